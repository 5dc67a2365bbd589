"""A branch on a tensor's value under fullgraph=True."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.rand(4, 8)


def model(x):
    if x.sum() > 0:
        return torch.relu(x)
    return x


# before:
compiled = torch.compile(model, fullgraph=True)
# after:
# compiled = torch.compile(model)
# end


def step(number):
    try:
        return compiled(x)
    except Exception:
        traceback.print_exc()
        return None
