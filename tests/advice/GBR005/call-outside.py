"""A metric that is disabled, since it keeps numbers of Python, in the forward pass."""

import torch

seen = []


@torch.compiler.disable
def record(y):
    seen.append(y.sum().item())


@torch.compile(backend="eager")
def cut(x):
    y = torch.relu(x)
    # before:
    record(y)
    return y + 1
    # after:
    # return y + 1, y
    # end


x = torch.randn(32)


def step(number):
    # before:
    return cut(x)
    # after:
    # out, y = cut(x)
    # record(y)
    # return out
    # end
