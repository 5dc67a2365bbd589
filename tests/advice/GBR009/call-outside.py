"""A function of C is called in the forward pass."""

import sys

import torch


@torch.compile(backend="eager")
def deep(x, depth=1):
    y = torch.relu(x)
    # before:
    depth = len(sys._current_frames())
    # after:
    # end
    return y + (depth > 0)


x = torch.randn(32)


def step(number):
    # before:
    return deep(x)
    # after:
    # return deep(x, len(sys._current_frames()))
    # end
