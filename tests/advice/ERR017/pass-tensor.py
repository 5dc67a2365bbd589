"""A loss that is made anew for every step with a number that changes: a float as a symbol fails."""

import traceback

import torch

STEPS = 3
torch.manual_seed(0)
p = torch.rand(64, requires_grad=True)


def make_loss(q):
    def gce(p):
        return ((1 - p.clamp_min(1e-6) ** q) / q).mean()

    return gce


@torch.compile
def loss_of(p, loss_fn):
    return loss_fn(p)


def step(number):
    q = 0.1 + 0.05 * number
    # before:
    # after:
    # q = torch.tensor(q)
    # end
    try:
        loss = loss_of(p, make_loss(q))
        loss.backward()
        return loss.detach()
    except Exception:
        traceback.print_exc()
        return None
