"""A gradient is asked for inside the compiled function."""

import torch


@torch.compile(backend="eager")
def energy(x):
    # before:
    x = x.detach().requires_grad_(True)
    # after:
    # end
    return (x * x).sum()


x = torch.randn(8)


def step(number):
    # before:
    return energy(x)
    # after:
    # return energy(x.detach().requires_grad_(True))
    # end
