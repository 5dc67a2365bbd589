"""A rate that changes in each step, and that an operation takes as a number."""

import torch


@torch.compile(backend="aot_eager")
def update(p, g, lr):
    p = p * (1.0 - lr * 0.01)
    # before:
    return p.add(g, alpha=-lr)
    # after:
    # return (
    #     p - lr * g
    # )
    # end


p = g = torch.ones(8)


def step(number):
    return update(p, g, 0.1 / (number + 1))
