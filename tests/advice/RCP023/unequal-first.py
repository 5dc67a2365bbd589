"""Images of any size, of which the first is a square."""

import torch


@torch.compile(backend="eager", dynamic=True)
def pooled(x):
    return x.mean((0, 1)) + x.shape[0]


def step(number):
    return pooled(torch.ones(8, 8 if number < 1 else 6 + number % 5, 3))
