"""Generated code checks every input and result for NaN."""
# logs: output_code,+inductor

import torch
import torch._inductor.config

# before:
torch._inductor.config.nan_asserts = True
# after:
# torch._inductor.config.nan_asserts = False
# end


@torch.compile
def compute(x):
    return torch.relu(x) + 1


x = torch.randn(1024)


def step(number):
    return compute(x)
