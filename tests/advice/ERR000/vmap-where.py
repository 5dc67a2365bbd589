"""A function with a branch on its argument, mapped over samples."""

# adapted: the condition and both sides have names of their own

import traceback

import torch

STEPS = 2
x = torch.linspace(-2, 2, 8)


def huber(r):
    # before:
    if r.abs() < 1:
        return 0.5 * r * r
    return r.abs() - 0.5
    # after:
    # return torch.where(r.abs() < 1, 0.5 * r * r, r.abs() - 0.5)
    # end


@torch.compile
def loss(x):
    return torch.vmap(huber)(x).mean()


def step(number):
    try:
        return loss(x)
    except Exception:
        traceback.print_exc()
        return None
