"""The batch varies, and the program asks for static sizes."""

import torch


@torch.compile(backend="eager", dynamic=False)
def doubled(x):
    return x * 2


def step(number):
    x = torch.ones(4 + number % 5, 3)
    # before:
    return doubled(x)
    # after:
    # padded = torch.nn.functional.pad(x, (0, 0, 0, 8 - len(x)))
    # return doubled(padded)[: len(x)]
    # end
