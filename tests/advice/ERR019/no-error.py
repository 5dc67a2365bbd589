"""torch.fx traces a function that is compiled."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.randn(4, 8)


@torch.compile(backend="eager")
def fn(x):
    return torch.relu(x) + 1


def step(number):
    y = fn(x)
    try:
        torch.fx.symbolic_trace(fn)
    except Exception:
        traceback.print_exc()
    return y
