"""Objects that have an attribute in some calls only."""

import torch


class Options:
    pass


@torch.compile(backend="eager")
def scaled(x, options):
    x = x + 1
    if hasattr(options, "bias"):
        x = x + options.bias
    if hasattr(options, "scale"):
        x = x * options.scale
    return x


def step(number):
    options = Options()
    # before:
    if number % 2:
        options.bias = torch.ones(8)
    if number % 4 > 1:
        options.scale = torch.full((8,), 2.0)
    # after:
    # options.bias = torch.ones(8) if number % 2 else torch.zeros(8)
    # options.scale = torch.full((8,), 2.0) if number % 4 > 1 else torch.ones(8)
    # end
    return scaled(torch.ones(8), options)
