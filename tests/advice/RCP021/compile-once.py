"""torch.compile is called in the loop, with a new backend."""

import torch


def make():
    return lambda graph, inputs: graph.forward


def work(x):
    return x * 2


x = torch.ones(8)
compiled = torch.compile(work, backend=make())


def step(number):
    # before:
    return torch.compile(work, backend=make())(x)
    # after:
    # return compiled(x)
    # end
