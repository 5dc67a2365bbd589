"""A function that branches on a tensor's value is called under fullgraph=True."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.rand(4, 8)


def scale(x):
    return 2.0 if x.sum() > 0 else 1.0


# before:
@torch.compile(fullgraph=True, backend="eager")
def model(x):
    return torch.relu(x) * scale(x)


# after:
# @torch.compile(fullgraph=True, backend="eager")
# def scaled(x, factor):
#     return torch.relu(x) * factor
#
#
# def model(x):
#     return scaled(x, scale(x))
#
#
# end
def step(number):
    try:
        return model(x)
    except Exception:
        traceback.print_exc()
        return None
