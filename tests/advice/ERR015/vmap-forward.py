"""The derivative of what a camera sees, by forward mode, for each of many points."""

# adapted: what is mapped has a name of its own

import traceback

import torch
from torch.func import jacfwd, vmap

STEPS = 2
torch.manual_seed(0)
cameras, points = torch.rand(8, 6), torch.rand(8, 3)


def seen(camera, point):
    turned = camera[:3] * point
    return torch.stack([turned[0] * turned[2], turned[1] * turned.square().sum()])


@torch.compile
def build(cameras, points):
    # before:
    rows = vmap(jacfwd(seen))(cameras, points)
    # after:
    # rows = jacfwd(lambda p: vmap(seen)(p, points).sum(0))(cameras).movedim(1, 0)
    # end
    return rows.mT @ rows


def step(number):
    try:
        return build(cameras, points)
    except Exception:
        traceback.print_exc()
        return vmap(lambda rows: rows.mT @ rows)(vmap(jacfwd(seen))(cameras, points))
