"""A step that is taken again, with half of its width, where its error is large."""

import torch

layer = torch.nn.Linear(8, 8)


# before:
@torch.compile(backend="eager")
def taken(x):
    y = layer(x).tanh()
    error = (y - x).abs().max().item()
    if error <= 0.5:
        return y + 1
    return (x + y) / 2


# after:
# @torch.compile(backend="eager")
# def tried(x):
#     y = layer(x).tanh()
#     return y, (y - x).abs().max()
# @torch.compile(backend="eager")
# def kept(y):
#     return y + 1
# @torch.compile(backend="eager")
# def halved(x, y):
#     return (x + y) / 2
# def taken(x):
#     y, error = tried(x)
#     if error.item() <= 0.5:
#         return kept(y)
#     return halved(x, y)
# end


def step(number):
    with torch.no_grad():
        return taken(torch.full((4, 8), 0.3 * (number % 4)))
