"""Distances of all pairs of two sets of points, by the norm of a broadcast difference."""
# logs: output_code,graph_code

import torch

torch.manual_seed(0)
x, y = torch.rand(2048, 64), torch.rand(512, 64)


@torch.compile
def nearest(x, y):
    # before:
    d = torch.norm(x.unsqueeze(1) - y.unsqueeze(0), dim=-1)
    # after:
    # d = torch.cdist(x, y)
    # end
    return d.min(1).values


def step(number):
    return nearest(x, y)
