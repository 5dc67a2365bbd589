"""A line converts to float64, and a product follows."""
# logs: graph_code

import torch

torch.manual_seed(0)
tokens = torch.rand(1024, 256)


@torch.compile
def similar(x):
    # before:
    y = x.double()
    # after:
    # y = x.float()
    # end
    return torch.softmax(y @ y.mT, -1).sum(-1)


def step(number):
    return similar(tokens)
