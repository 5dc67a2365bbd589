"""A layer is applied as often as Python draws."""
# results: differ: other random numbers

import random

import torch

layer = torch.nn.Linear(8, 8)


@torch.compile(backend="eager")
def deep(x, times=None):
    # before:
    for _ in range(random.randint(1, 3)):
        x = layer(x)
    # after:
    # for _ in range(times):
    #     x = layer(x)
    # end
    return x


x = torch.randn(4, 8)


def step(number):
    # before:
    return deep(x)
    # after:
    # return deep(x, random.randint(1, 3))
    # end
