"""A logger that is called in the forward pass."""

import logging

import torch

log = logging.getLogger("program")


@torch.compile(backend="eager")
def noted(x):
    y = torch.relu(x)
    # before:
    log.debug("step")
    # after:
    # end
    return y + 1


x = torch.randn(32)


def step(number):
    log.debug("step")
    return noted(x)
