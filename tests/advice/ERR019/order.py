"""torch.fx traces a function that is compiled."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.randn(4, 8)


def fn(x):
    return torch.relu(x) + 1


def step(number):
    try:
        # before:
        traced = torch.fx.symbolic_trace(torch.compile(fn, backend="eager"))
        # after:
        # traced = torch.compile(torch.fx.symbolic_trace(fn), backend="eager")
        # end
        return traced(x)
    except Exception:
        traceback.print_exc()
        return None
