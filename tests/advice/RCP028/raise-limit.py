"""Many models in one process, one after the other."""

# logs: recompiles
import torch


def scaled(x, name):
    return x * len(name)


compiled = torch.compile(scaled, backend="eager")
if torch._dynamo.config.accumulated_recompile_limit == 256:  # the default
    torch._dynamo.config.accumulated_recompile_limit = 6
torch._dynamo.config.recompile_limit = 64
x = torch.ones(8)


def step(number):
    return compiled(x, "a" * (2 + number))
