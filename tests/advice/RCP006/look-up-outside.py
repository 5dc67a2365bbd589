"""A name selects a factor."""

import torch

FACTORS = {f"task {n}": 1.0 + n for n in range(5)}


@torch.compile(backend="eager")
# before:
def scaled(x, name):
    return x * FACTORS[name]


# after:
# def scaled(x, factor):
#     return x * factor
# end


x = torch.ones(8)
names = list(FACTORS)


def step(number):
    # before:
    return scaled(x, names[number % 5])
    # after:
    # return scaled(x, torch.tensor(FACTORS[names[number % 5]]))
    # end
