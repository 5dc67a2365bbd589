"""A closure holds a number that differs between the functions."""

import torch


def make(scale):
    def scaled(x, factor=None):
        # before:
        return x * scale
        # after:
        # return x * factor
        # end

    return torch.compile(scaled, backend="eager")


functions = [make(f) for f in (1.5, 2.5, 3.5, 4.5, 5.5)]
scales = [torch.tensor(f) for f in (1.5, 2.5, 3.5, 4.5, 5.5)]
x = torch.ones(8)


def step(number):
    # before:
    return functions[number % 5](x)
    # after:
    # return functions[0](x, scales[number % 5])
    # end
