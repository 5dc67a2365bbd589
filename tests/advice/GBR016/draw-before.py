"""A random number of numpy's generator."""
# results: differ: other random numbers

import numpy
import torch

generator = numpy.random.RandomState(0)


@torch.compile(backend="eager")
def noisy(x, scale=None):
    # before:
    scale = generator.rand()
    # after:
    # end
    return x * scale


x = torch.rand(32)


def step(number):
    # before:
    return noisy(x)
    # after:
    # return noisy(x, torch.tensor(generator.rand()))
    # end
