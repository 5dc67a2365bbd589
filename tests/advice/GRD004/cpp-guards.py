"""A function of many tensors whose sizes are symbols."""
# logs: guards

import torch

torch.manual_seed(0)
parts = [torch.randn(10 + n // 2, 4) for n in range(60)]
for part in parts:
    torch._dynamo.mark_dynamic(part, 0)
STEPS = 3


@torch.compile(backend="eager")
def combine(*parts):
    return torch.cat([a * b for a, b in zip(parts[::2], parts[1::2], strict=True)])


def step(number):
    return combine(*parts)
