"""A product that is copied only because the program says so."""
# logs: output_code,graph_code

import torch

torch.manual_seed(0)
x, weight = torch.rand(8, 512, 256), torch.rand(256, 256)


@torch.compile
def swapped(x, weight):
    # before:
    return (x @ weight).transpose(1, 2).contiguous()
    # after:
    # return (x @ weight).transpose(1, 2)
    # end


def step(number):
    return swapped(x, weight)
