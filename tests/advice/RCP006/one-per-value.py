"""A name selects a factor."""

import torch

FACTORS = {f"task {n}": 1.0 + n for n in range(5)}


def make(name):
    factor = FACTORS[name]
    names = {}
    exec(f"def scaled(x):\n    return x * {factor}  # {name}", names)
    return torch.compile(names["scaled"], backend="eager")


@torch.compile(backend="eager")
def scaled(x, name):
    return x * FACTORS[name]


x = torch.ones(8)
names = list(FACTORS)
compiled = {name: make(name) for name in names}


def step(number):
    # before:
    return scaled(x, names[number % 5])
    # after:
    # return compiled[names[number % 5]](x)
    # end
