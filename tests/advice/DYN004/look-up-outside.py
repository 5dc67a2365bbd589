"""The number of rows is a key."""

import torch

FACTORS = {n: 1.0 + n for n in range(20)}


@torch.compile(backend="eager")
def scaled(x, factor=None):
    # before:
    return x * FACTORS[x.shape[0]]
    # after:
    # return x * factor
    # end


def step(number):
    x = torch.ones(4 + number % 5, 3)
    # before:
    return scaled(x)
    # after:
    # return scaled(x, torch.tensor(FACTORS[len(x)]))
    # end
