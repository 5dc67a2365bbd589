"""A tensor of a list is transposed in some calls."""

import torch


@torch.compile(backend="eager")
def doubled(xs):
    return xs[0] * 2


plain = torch.ones(4, 4)


def step(number):
    # before:
    x = plain if number % 2 else plain.t()
    # after:
    # x = plain if number % 2 else plain.t().clone(memory_format=torch.contiguous_format)
    # end
    return doubled([x])
