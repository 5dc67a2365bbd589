"""Small and large inputs take different ways."""

import torch


def small(x):
    return x * 2


def large(x):
    return x * 3


@torch.compile(backend="eager", dynamic=True)
def either(x):
    if x.shape[0] > 8:
        return large(x)
    return small(x)


small_one = torch.compile(small, backend="eager", dynamic=True)
large_one = torch.compile(large, backend="eager", dynamic=True)


def step(number):
    x = torch.ones(4 + number)
    # before:
    return either(x)
    # after:
    # return large_one(x) if x.shape[0] > 8 else small_one(x)
    # end
