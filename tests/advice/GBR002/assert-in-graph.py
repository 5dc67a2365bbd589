"""A check of values inside the compiled function, with a message that it makes."""

import torch


@torch.compile(backend="eager")
def safe(x):
    # before:
    assert x.min() > 0, f"{x.min()}"
    # after:
    # torch._assert_async(x.min() > 0, "x.min() > 0")
    # end
    return torch.log(x)


x = torch.rand(32) + 0.1


def step(number):
    return safe(x)
