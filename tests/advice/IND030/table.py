"""Codes of a codebook, looked up with a one-hot matrix that is scattered into zeros."""
# logs: graph_code

import torch

torch.manual_seed(0)
table = torch.randn(2048, 64, requires_grad=True)
ids = torch.randint(0, 2048, (1024,))


@torch.compile
def codes(ids, table):
    # before:
    hot = torch.zeros(ids.shape[0], 2048).scatter_(1, ids.unsqueeze(1), 1)
    y = hot @ table
    # after:
    # y = torch.nn.functional.embedding(ids, table)
    # end
    return y.square().sum(-1)


def step(number):
    table.grad = None
    result = codes(ids, table)
    result.sum().backward()
    return torch.cat([result.detach().flatten(), table.grad.flatten()])
