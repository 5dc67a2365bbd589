"""One of two expensive results, after the sign of a sum."""

import torch


def if_true(x):
    return x @ x


def if_false(x):
    return (x @ x) @ x


@torch.compile(backend="eager")
def product(x):
    # before:
    if x.sum() > 0:
        return if_true(x)
    return if_false(x)
    # after:
    # return torch.cond(x.sum() > 0, if_true, if_false, (x,))
    # end


x = torch.rand(32, 32)


def step(number):
    with torch.no_grad():
        return product(x)
