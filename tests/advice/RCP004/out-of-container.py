"""Numbers in a global dict, which the function writes to."""

import torch

STATE = {"step": 2, "last": 0}


@torch.compile(backend="eager")
# before:
def scaled(x):
    STATE["last"] = 1
    return x * (STATE["step"] / 100)


# after:
# def scaled(x, step):
#     STATE["last"] = 1
#     return x * (step / 100)
# end


x = torch.ones(8)


def step(number):
    # before:
    STATE["step"] = number + 2
    return scaled(x)
    # after:
    # return scaled(x, number + 2)
    # end
