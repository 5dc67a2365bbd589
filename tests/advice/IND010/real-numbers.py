"""A rotary embedding with complex numbers."""
# logs: output_code,perf_hints

import torch

torch.manual_seed(0)
angle = torch.arange(64.0)[:, None] * torch.arange(32.0) / 32
cos, sin = angle.cos(), angle.sin()
turn = torch.polar(torch.ones_like(angle), angle)


@torch.compile
def rotate(x):
    # before:
    y = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)
    # after:
    # a, b = x[..., 0::2], x[..., 1::2]
    # y = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    # end
    return y


x = torch.randn(8, 64, 64)


def step(number):
    return rotate(x)
