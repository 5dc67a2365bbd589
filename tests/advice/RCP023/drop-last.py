"""A function that takes small batches another way, and a data set whose last batch is small."""

import torch


@torch.compile(backend="eager", dynamic=True)
def scaled(x):
    if x.shape[0] > 4:
        return x.sum() * 2.0
    return x.sum() - 1.0


def step(number):
    x = torch.ones(8 if number % 4 < 3 else 3)
    # before:
    return scaled(x)
    # after:
    # return scaled(torch.ones(8))
    # end
