"""The size is hashed."""

import torch


@torch.compile(backend="eager")
def scaled(x):
    # before:
    rows = hash(x.shape[0])
    # after:
    # rows = x.shape[0]
    # end
    return x * rows


def step(number):
    return scaled(torch.ones(4 + number % 5, 3))
