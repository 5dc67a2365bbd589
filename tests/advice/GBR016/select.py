"""A branch that is skipped at random, with a generator of numpy's."""
# adapted: both sides stand for if_true and if_false
# results: differ: other random numbers

import numpy
import torch

rng = numpy.random.default_rng(0)
P = 0.5


@torch.compile(backend="eager")
def drop(x):
    # before:
    if rng.random() < P:
        return torch.zeros_like(x)
    return x
    # after:
    # return torch.where(torch.rand(()) < P, torch.zeros_like(x), x)
    # end


x = torch.randn(32)


def step(number):
    return drop(x)
