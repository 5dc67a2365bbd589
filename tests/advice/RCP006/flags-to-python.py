"""Layers are left out as a list of flags says."""

import itertools

import torch

blocks = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))


# before:
@torch.compile(backend="eager")
# after:
# blocks = [torch.compile(block, backend="eager") for block in blocks]
# end
def shallow(x, keep):
    for used, block in zip(keep, blocks):
        if used:
            x = block(x)
    return x


x = torch.ones(4, 8)
flags = list(itertools.product([True, False], repeat=3))


def step(number):
    return shallow(x, list(flags[number % 8]))
