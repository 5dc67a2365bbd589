"""Rotary embeddings whose angles are computed in each call."""
# logs: output_code

import torch

torch.manual_seed(0)
x = torch.rand(16, 512, 60)


def angles(x):
    half = torch.arange(x.shape[-1] // 2)
    return torch.arange(x.shape[1])[:, None] * torch.cat((half, half)).float()


def turned(x, cos, sin):
    left, right = x.split(x.shape[-1] // 2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


# before:
@torch.compile
def rotate(x):
    angle = angles(x)
    return turned(x, angle.cos(), angle.sin())


# after:
# cos, sin = angles(x).cos(), angles(x).sin()
#
#
# def rotate(x):
#     return compiled(x, cos, sin)
#
#
# compiled = torch.compile(turned)
# end


def step(number):
    return rotate(x)
