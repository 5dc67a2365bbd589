"""Images are cropped at a place that Python draws."""
# results: differ: other random numbers

import random

import torch


def crop(x):
    top = random.randint(0, 8)
    return x[:, top : top + 24]


@torch.compile(backend="eager")
def forward(x):
    # before:
    x = crop(x)
    # after:
    # end
    return torch.relu(x) * 2


x = torch.randn(4, 32)


def step(number):
    # before:
    return forward(x)
    # after:
    # return forward(crop(x))
    # end
