"""A wrapper that is called with arguments by position, and then by name."""

import functools

import torch


def logged(inner):
    @functools.wraps(inner)
    def wrapper(*args, **kwargs):
        return inner(*args, **kwargs)

    return wrapper


@logged
def scaled(x, factor, shift):
    return x * factor + shift


compiled = torch.compile(scaled, backend="eager")
x, factor, shift = torch.ones(8), torch.tensor(2.0), torch.tensor(1.0)


def step(number):
    # before:
    if number % 3 == 0:
        return compiled(x, factor, shift)
    if number % 3 == 1:
        return compiled(x, factor, shift=shift)
    return compiled(x, factor=factor, shift=shift)
    # after:
    # return compiled(x, factor, shift)
    # end
