"""Images are flipped where NumPy draws so."""
# results: differ: other random numbers

import traceback

import numpy as np
import torch


@torch.compile(backend="eager", fullgraph=True)
def flipped(x, flip=None):
    # before:
    if np.random.rand() < 0.5:
        x = x.flip(-1)
    # after:
    # if flip:
    #     x = x.flip(-1)
    # end
    return x * 2


x = torch.ones(4, 16)


def step(number):
    try:
        # before:
        return flipped(x)
        # after:
        # return flipped(x, bool(np.random.rand() < 0.5))
        # end
    except Exception:
        traceback.print_exc()
        return x * 2
