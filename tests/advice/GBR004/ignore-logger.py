"""A logger that is called in the forward pass."""

import logging

import torch

log = logging.getLogger("program")


@torch.compile(backend="eager")
def noted(x):
    y = torch.relu(x)
    log.debug("step")
    return y + 1


x = torch.randn(32)


def step(number):
    return noted(x)
