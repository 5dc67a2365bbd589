"""A number out of a tensor decides a branch, and is always above four."""

import traceback

import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(backend="eager", fullgraph=True)
def branch(x, length):
    n = length.sum().item()
    # before:
    # after:
    # torch._check(n > 4)
    # end
    if n > 4:
        return x * 2
    return x + 1


def step(number):
    x = torch.ones(16)
    try:
        return branch(x, torch.tensor([5, number % 3]))
    except Exception:
        traceback.print_exc()
        return x * 2
