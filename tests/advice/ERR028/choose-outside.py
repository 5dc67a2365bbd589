"""Rows of a batch are chosen by chance within a function that is checkpointed."""

import traceback

import torch
from torch.utils.checkpoint import checkpoint

STEPS = 2
x = torch.randn(64, 8, requires_grad=True)


class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.outer = torch.nn.Linear(8, 8)

    def forward(self, x, keep=None):
        keep = torch.rand(x.shape[0]) > 0.5 if keep is None else keep
        return torch.tanh(self.outer(torch.tanh(self.inner(x[keep])))).sum()


part = Part()
part.outer.forward = torch.compile(part.outer.forward, dynamic=True)


def step(number):
    given = ()
    # before:
    # after:
    # given = (torch.rand(x.shape[0]) > 0.5,)
    # end
    try:
        loss = checkpoint(part, x, *given, use_reentrant=False, preserve_rng_state=False)
        loss.backward()
    except Exception:
        traceback.print_exc()
    return None
