"""The data of a tensor is exchanged."""

import torch


@torch.compile(backend="eager")
def shifted(x):
    y = torch.relu(x)
    # before:
    y.data = y + 1
    # after:
    # y = y + 1
    # end
    return y * 2


x = torch.randn(8)


def step(number):
    return shifted(x)
