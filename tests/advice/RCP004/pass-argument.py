"""A global number of steps."""

import torch

STEP = 2


@torch.compile(backend="eager")
# before:
def scaled(x):
    return x * (STEP / 100)


# after:
# def scaled(x, step):
#     return x * (step / 100)
# end


x = torch.ones(8)


def step(number):
    global STEP
    STEP = number + 2
    # before:
    return scaled(x)
    # after:
    # return scaled(x, STEP)
    # end
