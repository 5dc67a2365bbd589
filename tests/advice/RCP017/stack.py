"""A list that grows."""

import torch


@torch.compile(backend="eager")
def summed(xs):
    # before:
    total = xs[0] * 0
    for x in xs:
        total = total + x
    return total
    # after:
    # return xs.sum(0)
    # end


def step(number):
    xs = [torch.ones(8) for _ in range(2 + number % 5)]
    # before:
    return summed(xs)
    # after:
    # return summed(torch.stack(xs))
    # end
