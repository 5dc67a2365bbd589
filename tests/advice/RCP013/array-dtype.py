"""An array that NumPy makes with its own dtype, and one of float32."""

import numpy
import torch


@torch.compile(backend="eager")
def doubled(x):
    return torch.as_tensor(x, dtype=torch.float32) * 2


inputs = [numpy.ones(8), numpy.ones(8, dtype="float32")]


def step(number):
    x = inputs[number % 2]
    # before:
    # after:
    # x = x.astype("float32")
    # end
    return doubled(x)
