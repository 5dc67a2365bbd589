"""Rows are added up by the group that a tensor says."""

# adapted: the tensors have names of their own

import torch

groups = torch.tensor([1, 3, 5, 1])


@torch.compile(backend="eager")
def summed(x):
    out = torch.zeros(8, 4)
    # before:
    for i, j in enumerate(groups):
        out[j] += x[i]
    # after:
    # out.index_add_(0, groups, x)
    # end
    return out


x = torch.arange(16.0).view(4, 4)


def step(number):
    return summed(x)
