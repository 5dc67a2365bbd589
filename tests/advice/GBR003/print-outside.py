"""A print between two operations."""

import torch


@torch.compile(backend="eager")
def chatty(x):
    y = torch.relu(x)
    # before:
    print("step")
    # after:
    # end
    return y + 1


x = torch.randn(32)


def step(number):
    return chatty(x)
