"""A check of values in the compiled function."""

import torch


@torch.compile(backend="eager")
def safe(x):
    # before:
    if torch.isnan(x).any():
        raise ValueError("not a number")
    # after:
    # end
    return torch.log(x)


x = torch.rand(32) + 0.1


def step(number):
    # before:
    return safe(x)
    # after:
    # if torch.isnan(x).any():
    #     raise ValueError("not a number")
    # return safe(x)
    # end
