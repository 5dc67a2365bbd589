"""Batches and lengths of one, in turns."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


sizes = [(4, 4), (1, 4), (1, 1), (4, 1), (5, 6)]


def step(number):
    x = torch.ones(sizes[number % 5])
    # before:
    return doubled(x)
    # after:
    # rows, columns = x.shape
    # padded = torch.nn.functional.pad(x, (0, int(columns == 1), 0, int(rows == 1)))
    # return doubled(padded)[:rows, :columns]
    # end
