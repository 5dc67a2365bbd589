"""A list is as long as the batch."""

import torch


@torch.compile(backend="eager")
def ramp(x):
    # before:
    steps = torch.tensor([1.0] * x.shape[0])
    # after:
    # steps = torch.ones(x.shape[0])
    # end
    return x * steps[:, None]


def step(number):
    return ramp(torch.ones(4 + number % 5, 3))
