"""A kernel that computes in float64."""
# logs: output_code
# results: differ: other data types

import torch

x = torch.rand(1 << 20, dtype=torch.float64)
# before:
# after:
# x = x.float()
# end


@torch.compile
def compute(x):
    return torch.special.i0e(x) * torch.special.erfcx(x)


def step(number):
    return compute(x)
