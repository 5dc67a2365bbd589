"""A grid that the compiled function makes is told to need no gradient."""

import torch


@torch.compile(backend="eager")
def placed(x):
    grid = torch.stack([torch.arange(8.0), torch.ones(8)])
    # before:
    grid.requires_grad = False
    # after:
    # grid = grid.detach()
    # end
    return (grid * x).sum(0)


x = torch.randn(2, 8)


def step(number):
    return placed(x)
