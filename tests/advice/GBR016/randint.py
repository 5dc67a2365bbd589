"""A tensor is filled with random numbers in place."""
# results: differ: other random numbers

import torch


@torch.compile(backend="eager")
def noisy(x):
    # before:
    noise = torch.empty_like(x).random_(0, 5)
    # after:
    # noise = torch.randint(0, 5, x.shape).to(x.dtype)
    # end
    return x + noise


x = torch.rand(32)


def step(number):
    return noisy(x)
