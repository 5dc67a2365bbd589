"""Codes that were not used are drawn anew, in a step that is compiled as one graph."""

import traceback

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(backend="eager", fullgraph=True)
def renew(codes, used, rows):
    (dead,) = torch.where(used < 1)
    codes = codes.clone()
    # before:
    if len(dead) > 0:
        codes[dead] = rows[torch.randint(0, rows.shape[0], (len(dead),))]
    # after:
    # codes[dead] = rows[torch.randint(0, rows.shape[0], (len(dead),))]
    # end
    return codes


def step(number):
    codes, rows = torch.zeros(6, 4), torch.ones(3, 4)
    used = torch.full((6,), 2)
    used[: number % 3] = 0
    try:
        return renew(codes, used, rows)
    except Exception:
        traceback.print_exc()
        codes[: number % 3] = 1
        return codes
