"""A number out of a tensor decides a branch that both sides can stay in the graph for."""

import traceback

import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(backend="eager", fullgraph=True)
def branch(x, length):
    n = length.sum().item()
    # before:
    if n > 4:
        return x * 2
    return x + 1
    # after:
    # return torch.cond(n > 4, lambda x: x * 2, lambda x: x + 1, (x,))
    # end


def step(number):
    x = torch.ones(16)
    try:
        return branch(x, torch.tensor([5, number % 3]))
    except Exception:
        traceback.print_exc()
        return x * 2
