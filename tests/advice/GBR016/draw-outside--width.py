"""A part of the input is set to 0, of a width and at a place that Python draws."""
# results: differ: other random numbers
# adapted: the widths and the sizes of the program

import random

import torch


def cover(x):
    # before:
    width = random.randint(0, 6)
    first = random.randint(0, x.shape[1] - width)
    x[:, first : first + width] = 0
    # after:
    # width = torch.randint(0, 6 + 1, ())
    # first = (torch.rand(()) * (x.shape[1] - width + 1)).long()
    # i = torch.arange(x.shape[1])
    # x = x.masked_fill((i >= first) & (i < first + width), 0)
    # end
    return x


@torch.compile(backend="eager")
def forward(x):
    x = x * 2
    return torch.relu(cover(x))


x = torch.randn(4, 32)


def step(number):
    return forward(x)
