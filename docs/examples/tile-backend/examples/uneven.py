"""Sizes that are no multiple of what the device has: nine tiles on eight cores, half a tile."""

import torch


def forward(x: torch.Tensor, w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.matmul(torch.relu(torch.matmul(x, w)), v)


compiled = torch.compile(forward, backend="tiler")
inputs = torch.ones(384, 256), torch.ones(256, 384), torch.ones(384, 130)
for _ in range(3):
    compiled(*inputs)
print("done")
