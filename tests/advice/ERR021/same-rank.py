"""An input of another rank, which no guard sees because all are left out."""
# adapted: the printed sentence is the absence of the filter

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
inputs = (torch.randn(8), torch.randn(3, 8))


def f(x):
    return (x * 2 + 1).sin()


# before:
fn = torch.compile(f, options={"guard_filter_fn": lambda guards: [False for _ in guards]})
# after:
# fn = torch.compile(f)
# end


def step(number):
    try:
        return [fn(x) for x in inputs]
    except Exception:
        traceback.print_exc()
        return None
