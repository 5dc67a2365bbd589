"""A batch with other keys in each call."""

import torch


@torch.compile(backend="eager")
def summed(batch):
    total = 0
    for value in batch.values():
        total = total + value
    return total


names = ["a", "b", "c", "d", "e"]


def step(number):
    # before:
    batch = {names[number % 5]: torch.ones(8), "z": torch.ones(8)}
    # after:
    # batch = {"x": torch.ones(8), "z": torch.ones(8)}
    # end
    return summed(batch)
