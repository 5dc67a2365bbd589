"""Several functions take turns as an argument."""

import torch


@torch.compile(backend="eager")
def run(x, function):
    return function(x)


def single(function):
    names = {"function": function}
    exec("def one(x):\n    return function(x)", names)
    return torch.compile(names["one"], backend="eager")


functions = [eval(f"lambda x: x * {n}") for n in range(2, 7)]
compiled = [single(function) for function in functions]
x = torch.ones(8)


def step(number):
    # before:
    return run(x, functions[number % 5])
    # after:
    # return compiled[number % 5](x)
    # end
