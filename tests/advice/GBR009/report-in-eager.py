"""A logger of a package's own asks who calls it, in the forward pass."""

import sys

import torch

lines = []


class Logger:
    def debug(self, message):
        lines.append(f"{sys._getframe(0).f_lineno} {message}")


logger = Logger()


@torch.compile(backend="eager")
def cut(x):
    y = torch.relu(x)
    # before:
    logger.debug("relu")
    # after:
    # if not torch.compiler.is_compiling():
    #     logger.debug("relu")
    # end
    return y + 1


x = torch.randn(32)


def step(number):
    return cut(x)
