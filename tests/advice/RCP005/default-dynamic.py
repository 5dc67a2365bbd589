"""A factor that changes in each step; the program asks for static shapes."""

import torch


# before:
@torch.compile(backend="eager", dynamic=False)
# after:
# @torch.compile(backend="eager")
# end
def scaled(x, scale):
    return x * scale


x = torch.ones(8)


def step(number):
    return scaled(x, 1.0 + 0.5 * number)
