"""The hash of a date is taken under fullgraph=True."""

import datetime
import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.rand(4, 8)


def scale():
    return 1.0 + hash(datetime.date(2020, 1, 1)) % 2


# before:
@torch.compile(fullgraph=True, backend="eager")
def model(x):
    return torch.relu(x) * scale()


# after:
# @torch.compile(fullgraph=True, backend="eager")
# def scaled(x, factor):
#     return torch.relu(x) * factor
#
#
# def model(x):
#     return scaled(x, scale())
#
#
# end
def step(number):
    try:
        return model(x)
    except Exception:
        traceback.print_exc()
        return None
