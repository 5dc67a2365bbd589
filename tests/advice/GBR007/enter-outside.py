"""A file is opened around an operation."""

import torch


@torch.compile(backend="eager")
def guarded(x):
    # before:
    with open("/dev/null"):
        y = torch.relu(x)
    # after:
    # y = torch.relu(x)
    # end
    return y + 1


x = torch.randn(32)


def step(number):
    # before:
    return guarded(x)
    # after:
    # with open("/dev/null"):
    #     return guarded(x)
    # end
