"""Seven dtypes and modes: one entry is left."""

# logs: recompiles
import torch


@torch.compile(backend="eager")
def scaled(x, mode):
    return x * {"a": 1.0}.get(mode, 2.0)


x = torch.ones(8)


def step(number):
    return scaled(x, f"mode {number % 7}")
