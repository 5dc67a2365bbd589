"""Images go through a list of functions, of another length in each call."""

import torch


def brighter(x):
    return x * 1.5


def shifted(x):
    return x + 0.5


functions = [brighter, shifted]


# before:
@torch.compile(backend="eager")
# after:
# functions = [torch.compile(one, backend="eager") for one in functions]
# end
def applied(x, steps):
    for one in steps:
        x = one(x)
    return x


x = torch.ones(8)


def step(number):
    return applied(x, [functions[at % 2] for at in range(1 + number % 6)])
