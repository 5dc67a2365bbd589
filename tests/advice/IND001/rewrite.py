"""A cumulative sum whose input does not change."""
# logs: output_code,perf_hints

import torch

torch.manual_seed(0)
weights = torch.rand(64, 8192)
x = torch.rand(64, 8192)
total = weights.cumsum(-1)


@torch.compile
def scaled(x):
    # before:
    return x * weights.cumsum(-1)
    # after:
    # return x * total
    # end


def step(number):
    return scaled(x)
