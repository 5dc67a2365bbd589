"""Products in double precision, whose largest tiles are too large for a scratchpad."""

import torch


def forward(x: torch.Tensor, w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.matmul(torch.relu(torch.matmul(x, w)), v)


compiled = torch.compile(forward, backend="tiler")
sizes = (512, 256), (256, 512), (512, 256)
inputs = [torch.ones(*size, dtype=torch.float64) for size in sizes]
for _ in range(30):
    compiled(*inputs)
print("done")
