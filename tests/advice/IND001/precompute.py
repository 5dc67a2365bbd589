"""Positions are counted from a mask within the compiled function."""
# logs: output_code,perf_hints

import torch

torch.manual_seed(0)
mask = (torch.rand(64, 8192) > 0.5).to(torch.int64)
x = torch.rand(64, 8192)


def count(mask):
    return mask.cumsum(-1)


counted = count(mask)


# before:
@torch.compile
def positions(x, mask):
    steps = count(mask)
    return x * (steps * mask).clamp_min(1)


# after:
# @torch.compile
# def positions(x, steps):
#     return x * (steps * mask).clamp_min(1)
# end


def step(number):
    # before:
    return positions(x, mask)
    # after:
    # return positions(x, counted)
    # end
