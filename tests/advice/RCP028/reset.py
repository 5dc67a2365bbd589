"""Many models in one process, one after the other."""

# logs: recompiles
import torch


def scaled(x, name):
    return x * len(name)


compiled = torch.compile(scaled, backend="eager")
torch._dynamo.config.accumulated_recompile_limit = min(
    6, torch._dynamo.config.accumulated_recompile_limit
)
torch._dynamo.config.recompile_limit = 64
x = torch.ones(8)


def step(number):
    # before:
    # after:
    # if number % 4 == 0:
    #     torch._dynamo.reset()
    # end
    return compiled(x, "a" * (2 + number))
