"""A graph break in the loop of a model: what the loop calls is compiled by itself."""

import torch


def mixed(x):
    return torch.relu(x) * 2


@torch.compile(backend="eager")
def run(x):
    total = x.sum()
    for depth in range(3):
        # before:
        print("depth", depth)
        # after:
        # end
        total = total + mixed(x).sum()
        x = x[None]
    return total


x = torch.ones(4, 8)


def step(number):
    return run(x)
