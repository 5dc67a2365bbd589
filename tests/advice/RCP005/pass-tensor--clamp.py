"""A bound that decays, which `clamp` takes as a tensor as well."""

import torch


@torch.compile(backend="aot_eager")
def clipped(x, bound):
    return x.clamp(-bound, bound) * 2


x = torch.linspace(-2, 2, 16)


def step(number):
    bound = 1.0 / (number + 1)
    # before:
    # after:
    # bound = torch.tensor(bound)
    # end
    return clipped(x, bound)
