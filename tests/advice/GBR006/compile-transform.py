"""A compiled function under vmap in eager code: Dynamo gives it up before its first line."""

import torch


def scaled(x):
    return torch.relu(x) * 2


# before:
each = torch.func.vmap(torch.compile(scaled, backend="aot_eager"))
# after:
# each = torch.compile(torch.func.vmap(scaled), backend="aot_eager")
# end
x = torch.randn(4, 8)


def step(number):
    return each(x)
