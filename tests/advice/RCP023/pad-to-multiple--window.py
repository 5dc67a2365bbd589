"""Images are padded inside to windows of eight, where they do not fit."""

import torch


@torch.compile(backend="eager", dynamic=True)
def windows(x):
    rows, columns = (8 - x.shape[0] % 8) % 8, (8 - x.shape[1] % 8) % 8
    if rows > 0 or columns > 0:
        x = torch.nn.functional.pad(x, (0, columns, 0, rows))
    return x.view(x.shape[0] // 8, 8, -1).sum(1)


def step(number):
    x = torch.ones(16 + number % 9, 24 + number % 7)
    # before:
    return windows(x)
    # after:
    # return windows(torch.nn.functional.pad(x, (0, -x.shape[1] % 8, 0, -x.shape[0] % 8)))
    # end
