"""Images in three layouts: of a file, a slice of a larger one, and permuted."""

import torch


@torch.compile(backend="eager")
def total(x):
    return (x * 2).flatten(1).sum(1)


x = torch.ones(2, 3, 32, 32)
wide = torch.ones(2, 3, 32, 64)
last = torch.ones(2, 32, 32, 3)


def step(number):
    made = (x, wide[..., ::2], last.permute(0, 3, 1, 2))[number % 3]
    # before:
    image = made
    # after:
    # image = made.contiguous()
    # end
    return total(image)
