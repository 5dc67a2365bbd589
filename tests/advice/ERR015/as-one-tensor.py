"""The last step of each sequence, by a list of lengths."""

import traceback

import torch

STEPS = 2
x = torch.randn(8, 6, 4)
lengths = torch.tensor([6, 3, 4, 2, 5, 6, 1, 2])


@torch.compile
def last(x, lengths):
    rows = range(len(x))
    # before:
    return x[rows, [length - 1 for length in lengths]].tanh()
    # after:
    # return x[rows, torch.stack([length - 1 for length in lengths])].tanh()
    # end


def step(number):
    try:
        return last(x, lengths)
    except Exception:
        traceback.print_exc()
        return None
