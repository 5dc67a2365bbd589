"""A step number as an argument; the program asks for static shapes."""

import torch


@torch.compile(backend="eager", dynamic=False)
# before:
def shifted(x, n):
    return x + n


# after:
# def shifted(x, n):
#     return x + n
# end


x = torch.ones(8)


def step(number):
    # before:
    return shifted(x, number)
    # after:
    # n = number
    # return shifted(x, torch.tensor(n))
    # end
