"""A mask that is bool in some calls, and int64 in others."""

import torch


@torch.compile(backend="eager")
def masked(x, mask):
    return torch.where(mask > 0, x, 0)


x = torch.ones(8)
masks = [torch.ones(8, dtype=torch.bool), torch.ones(8, dtype=torch.int64)]


def step(number):
    # before:
    return masked(x, masks[number % 2])
    # after:
    # return masked(x, masks[0])
    # end
