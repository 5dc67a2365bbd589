"""A break that was put in for debugging."""

import torch


@torch.compile(backend="eager")
def cut(x):
    y = torch.relu(x)
    # before:
    torch._dynamo.graph_break()
    # after:
    # end
    return y + 1


x = torch.randn(32)


def step(number):
    return cut(x)
