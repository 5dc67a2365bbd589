"""A warning in the forward pass."""

import warnings

import torch


@torch.compile(backend="eager")
def warned(x):
    y = torch.relu(x)
    warnings.warn("old")
    return y + 1


x = torch.randn(32)


def step(number):
    return warned(x)
