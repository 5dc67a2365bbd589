"""A dimension is marked dynamic that is a constant by design."""

import traceback

import torch


@torch.compile(backend="eager")
def attend(x):
    assert x.shape[0] == 16
    return x * 2


def step(number):
    x = torch.ones(16, 4)
    # before:
    torch._dynamo.mark_dynamic(x, 0)
    # after:
    # torch._dynamo.maybe_mark_dynamic(x, 0)
    # end
    try:
        return attend(x)
    except Exception:
        traceback.print_exc()
        return x * 2
