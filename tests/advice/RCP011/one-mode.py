"""Tensors of inference mode, and others."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


def made(number):
    # before:
    with torch.inference_mode(number % 2 == 0):
        return torch.ones(8)
    # after:
    # with torch.no_grad():
    #     return torch.ones(8)
    # end


tensors = [made(number) for number in range(4)]


def step(number):
    with torch.no_grad():
        return doubled(tensors[number % 4])
