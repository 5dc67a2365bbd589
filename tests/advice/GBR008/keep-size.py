"""The sum of the positive elements, cut out by a mask."""

import torch


@torch.compile(backend="eager")
def positive(x):
    # before:
    return x[x > 0].sum()
    # after:
    # return torch.where(x > 0, x, 0).sum()
    # end


x = torch.arange(-8.0, 8.0)


def step(number):
    return positive(x)
