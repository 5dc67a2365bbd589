"""Rows are paired where their number is even."""

import torch


@torch.compile(backend="eager", dynamic=True)
def paired(x):
    if x.shape[0] % 4 == 0:
        return x.reshape(-1, 4).sum()
    return x.sum() * 1.0


def step(number):
    x = torch.ones(4 + number % 9)
    # before:
    return paired(x)
    # after:
    # return paired(torch.nn.functional.pad(x, (0, -len(x) % 4)))
    # end
