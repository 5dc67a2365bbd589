"""A helper that is disabled, though it could be traced."""

import torch


# before:
@torch.compiler.disable
# after:
# end
def helper(x):
    return torch.relu(x)


@torch.compile(backend="eager")
def cut(x):
    return helper(x + 1) + 1


x = torch.randn(32)


def step(number):
    return cut(x)
