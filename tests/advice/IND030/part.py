"""A category beside columns of numbers, for one linear layer."""
# logs: graph_code

import torch

torch.manual_seed(0)
first, last = 0, 4096
layer = torch.nn.Linear(4096 + 16, 64)
ids = torch.randint(0, 4096, (512,))
numbers = torch.randn(512, 16)


@torch.compile
def encoded(ids, numbers):
    # before:
    hot = torch.nn.functional.one_hot(ids, 4096).float()
    y = layer(torch.cat([hot, numbers], dim=-1))
    # after:
    # part = torch.nn.functional.embedding(ids, layer.weight[:, first:last].t())
    # y = part + torch.nn.functional.linear(numbers, layer.weight[:, last:], layer.bias)
    # end
    return torch.relu(y)


def step(number):
    layer.zero_grad()
    result = encoded(ids, numbers)
    result.sum().backward()
    return torch.cat([result.detach().flatten(), layer.weight.grad.flatten()])
