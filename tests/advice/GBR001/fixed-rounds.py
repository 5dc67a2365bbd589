"""A decoder goes on for as many rounds as the longest of the captions has words."""

import torch

torch.manual_seed(0)
cell = torch.nn.LSTMCell(8, 8)
x = torch.rand(4, 9, 8)


# before:
@torch.compile(backend="eager")
def decoded(x, lengths):
    rounds = (lengths - 1).tolist()
    h = c = torch.zeros(4, 8)
    for t in range(max(rounds)):
        h, c = cell(x[:, t], (h, c))
    return h


# after:
# @torch.compile(backend="eager")
# def one_round(x, h, c):
#     return cell(x, (h, c))
# def decoded(x, lengths):
#     rounds = (lengths - 1).tolist()
#     h = c = torch.zeros(4, 8)
#     for t in range(max(rounds)):
#         h, c = one_round(x[:, t], h, c)
#     return h
# end


def step(number):
    return decoded(x, torch.tensor([3, 4, 2, 5 + number % 4])).sum()
