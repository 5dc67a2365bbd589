"""The text of an assertion is made from the size."""

import torch


@torch.compile(backend="eager")
def checked(x):
    # before:
    name = f"{x.shape[0]} rows"
    # after:
    # name = "rows"
    # end
    return x * (2 if name else 3)


def step(number):
    return checked(torch.ones(4 + number % 5, 3))
