"""A step is given a function that is made from its source in every call."""

import torch


@torch.compile(backend="eager")
def apply(x, act):
    return act(x).sum()


def made():
    names = {"torch": torch}
    exec("def act(x): return torch.relu(x) * 2", names)
    return names["act"]


ACT = made()


def step(number):
    x = torch.ones(8)
    # before:
    return apply(x, made())
    # after:
    # return apply(x, ACT)
    # end
