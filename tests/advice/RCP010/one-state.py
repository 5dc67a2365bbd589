"""The number of threads is set again and again."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


x = torch.ones(8)
torch.set_num_threads(1)


def step(number):
    # before:
    torch.set_num_threads(1 + number % 3)
    # after:
    # end
    return doubled(x)
