"""A step number as an argument; the program asks for static shapes."""

import torch


# before:
@torch.compile(backend="eager", dynamic=False)
# after:
# @torch.compile(backend="eager")
# end
def shifted(x, n):
    return x + n


x = torch.ones(8)


def step(number):
    return shifted(x, number)
