"""A check of values that raises, in the compiled function."""

import torch


@torch.compile(backend="eager")
def safe(x):
    # before:
    if torch.isnan(x).any(): raise ValueError("not a number")  # fmt: skip
    # after:
    # if not torch.compiler.is_compiling() and torch.isnan(x).any():
    #     raise ValueError("not a number")
    # end
    return torch.log(x)


x = torch.rand(32) + 0.1


def step(number):
    return safe(x)
