"""Make the benchmark's inputs by really running torch: one log or trace per call.

usage: python workload.py onednn|compile|trace|structured   (settings come from the environment)
"""

import sys

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A small transformer block: matmuls, norms, pointwise work."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, scale: int = 1) -> torch.Tensor:
        y = self.norm(x)
        scores = self.q(y) @ self.k(y).transpose(-1, -2) * scale
        attention = functional.softmax(scores, -1) @ self.v(y)
        x = x + self.o(attention)
        return x + self.down(functional.gelu(self.up(self.norm(x))))


def onednn() -> None:
    """BF16 convolutions and linears of many shapes, a few thousand executions."""
    with torch.no_grad():
        for width in range(16, 160, 8):
            layer = nn.Linear(width, width * 2).bfloat16()
            convolution = nn.Conv2d(3, width, 3, padding=1).bfloat16()
            for batch in (1, 4, 8):
                image = torch.randn(batch, 3, 24, 24).bfloat16()
                for _ in range(20):
                    layer(torch.randn(batch, width).bfloat16())
                    convolution(image)


def compile_(steps: int = 4) -> None:
    """Compile, break and recompile."""

    def step(x: torch.Tensor, n: int) -> torch.Tensor:
        x = block(x, n)
        if n % 2:
            print("odd", n)
        return x.relu() * n

    block = Block(48)
    compiled = torch.compile(step)
    for n in range(steps):
        compiled(torch.randn(2, 6 + n, 48), n)


def trace() -> None:
    """Profile some steps of an eager model with shapes."""
    block = Block(64)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        for _ in range(400):
            block(torch.randn(2, 16, 64)).sum().backward()
            profile.step()
    profile.export_chrome_trace(sys.argv[2])


if __name__ == "__main__":
    torch.manual_seed(0)
    {"onednn": onednn, "compile": compile_, "structured": compile_, "trace": trace}[sys.argv[1]]()
