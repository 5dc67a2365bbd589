"""Halves of bytes are unpacked, put side by side as int8, and converted then."""
# logs: output_code,perf_hints

import torch

torch.manual_seed(0)
packed = torch.randint(0, 256, (1024, 512), dtype=torch.uint8)
scale = torch.rand(1024, 1)
x, dtype = torch.randn(1, 1024), torch.float32


@torch.compile
def product(x):
    a, b = (packed & 0xF).to(torch.int8) - 8, (packed >> 4).to(torch.int8) - 8
    # before:
    w = torch.stack([a, b], -1)
    w = w.to(dtype)
    # after:
    # w = torch.stack([a.to(dtype), b.to(dtype)], -1)
    # end
    return torch.nn.functional.linear(x, w.flatten(1) * scale)


def step(number):
    return product(x)
