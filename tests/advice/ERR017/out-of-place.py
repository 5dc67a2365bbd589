"""A view of a view that is changed in place: AOTAutograd cannot make the views again."""

# adapted: names differ, and so does the mask

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
weight = torch.randn(8, 8)
x, mask = torch.randn(2, 5, 8), torch.ones(2, 5).bool()


@torch.compile(backend="aot_eager")
def fn(x, mask):
    v = (x @ weight).reshape(2, 5, 2, 4).permute(0, 2, 1, 3)
    v, rest = v[:, :2], v[:, 2:]
    # before:
    v.masked_fill_(~mask[:, None, :, None], 0.0)
    # after:
    # v = v.masked_fill(~mask[:, None, :, None], 0.0)
    # end
    return v.sum(), rest


def step(number):
    try:
        with torch.no_grad():
            return fn(x, mask)
    except Exception:
        traceback.print_exc()
        return None
