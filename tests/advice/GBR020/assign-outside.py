"""Calls are counted in an attribute of a class."""

import torch


from torch.utils.hooks import RemovableHandle


@torch.compile(backend="eager")
def counted(x):
    y = torch.relu(x)
    # before:
    RemovableHandle.next_id = 100
    # after:
    # end
    return y + 1


x = torch.randn(8)


def step(number):
    # before:
    # after:
    # RemovableHandle.next_id = 100
    # end
    return counted(x)
