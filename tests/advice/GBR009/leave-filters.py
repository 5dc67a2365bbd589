"""A layer that sets a filter of warnings, as yolov5's SPPF does."""

import warnings

import torch


@torch.compile(backend="eager")
def pooled(x):
    y = torch.relu(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = torch.nn.functional.max_pool1d(y, 3, 1, 1)
    return z + 1


x = torch.randn(1, 8, 32)


def step(number):
    return pooled(x)
