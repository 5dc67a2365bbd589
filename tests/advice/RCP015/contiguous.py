"""A transposed tensor in some calls."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


plain = torch.ones(4, 4)
inputs = [plain, plain.t()]


def step(number):
    x = inputs[number % 2]
    # before:
    # after:
    # x = x.clone(memory_format=torch.contiguous_format)
    # end
    return doubled(x)
