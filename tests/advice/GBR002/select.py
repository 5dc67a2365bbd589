"""One of two cheap results, after the sign of a sum."""
# adapted: the two sides are named in the program

import torch


@torch.compile(backend="eager")
def signed(x):
    # before:
    if x.sum() > 0:
        return x + 1
    return x - 1
    # after:
    # return torch.where(x.sum() > 0, x + 1, x - 1)
    # end


x = torch.rand(32)


def step(number):
    return signed(x)
