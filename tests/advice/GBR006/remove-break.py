"""A print in a loop: the whole function runs eagerly."""

import torch


@torch.compile(backend="eager")
def summed(items):
    total = items[0]
    for item in items:
        # before:
        print("item")
        # after:
        # end
        total = total + torch.relu(item)
    return total


items = [torch.ones(8), torch.ones(8)]


def step(number):
    return summed(items)
