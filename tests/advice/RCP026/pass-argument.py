"""Functions with a number in their closures are passed to a compiled one."""

import torch


def make(scale):
    def scaled(x):
        return x * scale

    return scaled


@torch.compile(backend="eager", dynamic=False)
# before:
def apply(function, x):
    return function(x)


# after:
# def apply(scale, x):
#     return x * scale
# end


scales = (1.5, 2.5, 3.5, 4.5, 5.5)
functions = [make(scale) for scale in scales]
x = torch.ones(8)


def step(number):
    # before:
    return apply(functions[number % 5], x)
    # after:
    # return apply(torch.tensor(scales[number % 5]), x)
    # end
