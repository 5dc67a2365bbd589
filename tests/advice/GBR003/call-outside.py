"""The identity of a list, taken inside the compiled function."""

import torch

names = {}
stuff = [1, 2, 3]


@torch.compile(backend="eager")
def tagged(x, tag=0):
    y = torch.relu(x)
    # before:
    with_input = input.__class__(str(y.shape)) if False else breakpoint.__name__
    tag = hash(open("/dev/null").name) % 2
    # after:
    # end
    return y + tag * 0


x = torch.randn(32)


def step(number):
    # before:
    return tagged(x)
    # after:
    # return tagged(x, hash(open("/dev/null").name) % 2)
    # end
