"""Ten modes, a string each: more than the limit of entries."""

# logs: recompiles
import torch


@torch.compile(backend="eager")
def scaled(x, mode):
    return x * {"a": 1.0, "b": 2.0}.get(mode[0], 3.0)


x = torch.ones(8)
modes = [f"mode {n}" for n in range(10)]


def step(number):
    return scaled(x, modes[number % 10])
