"""A context manager of the program's own takes times inside of the compiled function."""

import time
from contextlib import contextmanager

import torch

times = {}


@contextmanager
def timed(name):
    begin = time.perf_counter()
    try:
        yield
    finally:
        times[name] = time.perf_counter() - begin


@torch.compile(backend="eager")
def fn(x):
    # before:
    with timed("relu"):
        return torch.relu(x)
    # after:
    # return torch.relu(x)
    # end


x = torch.randn(32)


def step(number):
    # before:
    return fn(x)
    # after:
    # with timed("relu"):
    #     return fn(x)
    # end
