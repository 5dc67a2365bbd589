"""A while_loop whose body returns a number in another dtype than it got."""

import traceback

import torch
from torch._higher_order_ops.while_loop import while_loop

STEPS = 2
x = torch.ones(4)


def goes_on(count, total):
    return count < 3


def body(count, total):
    # before:
    return count + 1, (total * 2).double()
    # after:
    # return count + 1, total * 2
    # end


@torch.compile
def fn(x):
    return while_loop(goes_on, body, (torch.tensor(0), x))[1].sum().double()


def step(number):
    try:
        return fn(x)
    except Exception:
        traceback.print_exc()
        return None
