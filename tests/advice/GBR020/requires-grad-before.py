"""A gradient is asked for by an assignment inside the compiled function."""

import torch


@torch.compile(backend="eager")
def energy(x):
    # before:
    x = x * 1.0
    x.requires_grad = True
    # after:
    # end
    return (x * x).sum()


x = torch.randn(8)


def step(number):
    # before:
    return energy(x)
    # after:
    # y = x * 1.0
    # y.requires_grad = True
    # return energy(y)
    # end
