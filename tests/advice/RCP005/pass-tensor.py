"""A factor that changes in each step; the program asks for static shapes."""

import torch


@torch.compile(backend="eager", dynamic=False)
# before:
def scaled(x, scale):
    return x * scale


# after:
# def scaled(x, scale):
#     return x * scale
# end


x = torch.ones(8)


def step(number):
    # before:
    return scaled(x, 1.0 + 0.5 * number)
    # after:
    # scale = 1.0 + 0.5 * number
    # return scaled(x, torch.tensor(scale))
    # end
