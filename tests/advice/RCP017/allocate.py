"""A list that grows, of tensors that are added up."""

import torch


@torch.compile(backend="eager")
def summed(xs):
    total = xs[0] * 0
    for x in xs:
        total = total + x
    return total


def step(number):
    xs = [torch.ones(8) for _ in range(2 + number % 5)]
    # before:
    return summed(xs)
    # after:
    # xs += [torch.zeros(8)] * (8 - len(xs))
    # return summed(xs)
    # end
