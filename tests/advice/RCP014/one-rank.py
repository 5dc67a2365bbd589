"""Images with and without a batch dimension."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


inputs = [torch.ones(4, 4), torch.ones(1, 4, 4), torch.ones(1, 1, 4, 4)]


def step(number):
    x = inputs[number % 3]
    # before:
    # after:
    # x = x.flatten(0, -2).unsqueeze(0)
    # end
    return doubled(x)
