"""A function that Dynamo cannot trace computes with tensors."""
# adapted: the name of the operator

import sys

import torch


# before:
def smooth(x):
    sys._getframe()
    return torch.cumsum(x, 0)


# after:
# @torch.library.custom_op("mine::smooth", mutates_args=())
# def smooth(x: torch.Tensor) -> torch.Tensor:
#     sys._getframe()
#     return torch.cumsum(x, 0)
#
#
# @smooth.register_fake
# def _(x):
#     return torch.empty_like(x)
# end


@torch.compile(backend="eager")
def model(x):
    return smooth(torch.relu(x)) + 1


x = torch.rand(32)


def step(number):
    return model(x)
