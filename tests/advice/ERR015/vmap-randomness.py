"""Dropout in a function that is mapped over samples."""

# adapted: what is mapped has a name of its own
# results: each sample draws numbers of its own

import traceback

import torch

STEPS = 2
x = torch.randn(8, 4)


def noisy(row):
    return torch.nn.functional.dropout(row, 0.5).sum()


@torch.compile
def scores(x):
    # before:
    return torch.vmap(noisy)(x)
    # after:
    # return torch.vmap(noisy, randomness="different")(x)
    # end


def step(number):
    try:
        return scores(x)
    except Exception:
        traceback.print_exc()
        return None
