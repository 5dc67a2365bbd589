"""Calls are counted in an attribute of a class."""

import torch


class Counter:
    calls = 0


@torch.compile(backend="eager")
def counted(x):
    y = torch.relu(x)
    # before:
    Counter.calls = 1
    # after:
    # end
    return y + 1


x = torch.randn(8)


def step(number):
    # before:
    # after:
    # Counter.calls = 1
    # end
    return counted(x)
