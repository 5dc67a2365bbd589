"""A ratio that changes in each step, and that NumPy computes with."""

import numpy as np
import torch


@torch.compile(backend="eager")
# before:
def scaled(x, ratio):
    return x * float(np.log(ratio))


# after:
# def scaled(x, factor):
#     return x * factor
# end


x = torch.ones(8)


def step(number):
    ratio = 2.0 + 0.1 * number
    # before:
    return scaled(x, ratio)
    # after:
    # return scaled(x, torch.tensor(np.log(ratio), dtype=torch.float32))
    # end
