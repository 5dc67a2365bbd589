"""A sound is shifted by a number that Python draws."""
# results: differ: other random numbers

import random

import torch


@torch.compile(backend="eager")
def shifted(x, by=None):
    # before:
    by = random.randint(1, 8)
    # after:
    # end
    return x[:, :by] * 2


x = torch.rand(4, 16)


def step(number):
    # before:
    return shifted(x)
    # after:
    # return shifted(x, random.randint(1, 8))
    # end
