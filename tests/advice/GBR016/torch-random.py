"""A random number of Python's generator."""
# results: differ: other random numbers

import random

import torch

generator = random.Random(0)


@torch.compile(backend="eager")
def noisy(x):
    # before:
    return x * numpy_state.rand()
    # after:
    # return x * torch.rand(())
    # end


import numpy

numpy_state = numpy.random.RandomState(0)
x = torch.rand(32)


def step(number):
    return noisy(x)
