"""Numbers that depend on no input, made by a tensor."""

import torch


@torch.compile(backend="eager")
def shifted(x):
    # before:
    amounts = (2 ** torch.arange(3)).tolist()
    # after:
    # amounts = [2**n for n in range(3)]
    # end
    return sum(torch.roll(x, amount) for amount in amounts)


x = torch.rand(32)


def step(number):
    return shifted(x)
