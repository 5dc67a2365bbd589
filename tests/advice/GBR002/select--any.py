"""A mask that is applied only where it holds something: nothing need be checked."""
# adapted: both sides stand for if_true and if_false

import torch


@torch.compile(backend="eager")
def masked(x, pad):
    # before:
    if pad.any():
        x = x.masked_fill(pad, -1.0)
    # after:
    # x = torch.where(pad.any(), x.masked_fill(pad, -1.0), x)
    # end
    return x * 2


x = torch.randn(8)
pads = torch.zeros(8, dtype=torch.bool), torch.arange(8) > 5


def step(number):
    return masked(x, pads[number % 2])
