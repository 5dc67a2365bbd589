"""float32 from one source, float64 from another."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


inputs = [torch.ones(8), torch.ones(8, dtype=torch.float64), torch.ones(8, dtype=torch.float16)]


def step(number):
    x = inputs[number % 3]
    # before:
    # after:
    # x = x.to(torch.float32)
    # end
    return doubled(x)
