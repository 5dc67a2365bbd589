"""A sound is shifted by a number that Python draws, in a whole graph."""
# results: differ: other random numbers

import random
import traceback

import torch


@torch.compile(backend="eager", fullgraph=True)
def shifted(x, by=None):
    # before:
    return torch.roll(x, random.randint(1, 8), 1)
    # after:
    # return torch.roll(x, by, 1)
    # end


x = torch.ones(4, 16)


def step(number):
    try:
        # before:
        return shifted(x)
        # after:
        # return shifted(x, random.randint(1, 8))
        # end
    except Exception:
        traceback.print_exc()
        return x
