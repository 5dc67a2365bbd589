"""The same tensor as two arguments, in some calls."""

import torch


@torch.compile(backend="aot_eager")
def added(a, b):
    a.add_(1)
    return a + b


def step(number):
    a, b = torch.ones(8), torch.ones(8)
    # before:
    return added(a, a if number % 2 else b)
    # after:
    # return added(a, a.clone() if number % 2 else b)
    # end
