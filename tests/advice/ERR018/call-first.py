"""A package that looks once for another one: Dynamo does not come past the error inside."""

# adapted: a function in place of a model

import importlib.metadata
import traceback

import torch

STEPS = 2
x = torch.ones(3)


class Available:
    known = None

    def __bool__(self):
        if self.known is None:
            try:
                self.known = bool(importlib.metadata.version("not_a_package_at_all"))
            except importlib.metadata.PackageNotFoundError:
                self.known = False
        return self.known


FAST = Available()


def scale(x):
    return x * 2 if FAST else x + 1


# before:
# after:
# scale(x)
# end
compiled = torch.compile(scale, backend="aot_eager")


def step(number):
    try:
        return compiled(x)
    except Exception:
        traceback.print_exc()
        return None
