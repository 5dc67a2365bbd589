"""A number out of a tensor decides a branch, which only saves work: both sides give the same."""

import traceback

import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(backend="eager", fullgraph=True)
def branch(x, length):
    n = length.sum().item()
    # before:
    if n > 4:
        return x.repeat(1) * 2
    # after:
    # from torch.fx.experimental.symbolic_shapes import guard_or_false
    # if guard_or_false(n > 4):
    #     return x.repeat(1) * 2
    # end
    return x * 2


def step(number):
    x = torch.ones(16)
    try:
        return branch(x, torch.tensor([5, number % 3]))
    except Exception:
        traceback.print_exc()
        return x * 2
