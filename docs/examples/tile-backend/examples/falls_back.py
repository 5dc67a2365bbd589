"""Operators that the backend does not have, and a graph with nothing else."""

import torch


def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.cumsum(torch.matmul(x, w), dim=0)
    y = torch.nn.functional.gelu(y)
    return y.sort(dim=0).values


@torch.compile(backend="tiler")
def positions(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x, dim=0)


compiled = torch.compile(forward, backend="tiler")
for _ in range(3):
    compiled(torch.ones(512, 64), torch.ones(64, 512))
    positions(torch.ones(16))
print("done")
