"""Rows that a list of numbers chooses."""

import torch


@torch.compile(backend="eager")
def chosen(x, rows):
    return x[rows] * 2


x = torch.arange(64.0).view(16, 4)


def step(number):
    rows = [number % 16, (number * 5 + 3) % 16, (number * 7 + 1) % 16]
    # before:
    # after:
    # rows = torch.tensor(rows)
    # end
    return chosen(x, rows)
