"""A setting is parsed in each call of the compiled function."""

import json

import torch

TEXT = '{"scale": 2.0}'
layer = torch.nn.Linear(8, 8)


# before:
@torch.compile(backend="eager")
def scaled(x):
    return layer(x) * json.loads(TEXT)["scale"]


# after:
# @torch.compile(backend="eager")
# def scaled(x, setting=json.loads(TEXT)):
#     return layer(x) * setting["scale"]
# end
x = torch.rand(4, 8)


def step(number):
    with torch.no_grad():
        return scaled(x)
