"""Generated code checks every input and result for NaN."""
# env: TORCHINDUCTOR_NAN_ASSERTS=1
# env: TORCH_TRACE={out}

import torch


@torch.compile
def compute(x):
    return torch.relu(x) + 1


x = torch.randn(1024)


def step(number):
    return compute(x)
