"""Weights of the steps stand in a list."""

import torch

SIGMAS = [0.9, 0.7, 0.5, 0.3, 0.2, 0.1]


@torch.compile(backend="eager")
# before:
def denoise(x, n):
    return x * SIGMAS[n]


# after:
# def denoise(x, sigma):
#     return x * sigma
# end


x = torch.ones(8)


def step(number):
    # before:
    return denoise(x, number % 6)
    # after:
    # return denoise(x, torch.tensor(SIGMAS[number % 6]))
    # end
