"""A loop over a number of steps that grows."""

import torch


# before:
@torch.compile(backend="eager")
def rollout(x, horizon):
    h = torch.zeros(8)
    for t in range(horizon):
        h = torch.tanh(h + x[t])
    return h


# after:
# @torch.compile(backend="eager")
# def advance(h, row):
#     return torch.tanh(h + row)
#
#
# def rollout(x, horizon):
#     h = torch.zeros(8)
#     for t in range(horizon):
#         h = advance(h, x[t])
#     return h
# end


x = torch.linspace(0, 1, 256).view(32, 8)


def step(number):
    return rollout(x, number + 2)
