"""Messages of edges: a layer of the features of their sources."""
# logs: graph_code

import torch

torch.manual_seed(0)
layer = torch.nn.Linear(64, 64)
h = torch.randn(1000, 64)
src, dst = torch.randint(0, 1000, (2, 10000))


@torch.compile
def messages(h, index, dst):
    # before:
    y = layer(h[index])
    # after:
    # y = layer(h)[index]  # for layer(h[index])
    # end
    return torch.zeros(1000, 64).index_add(0, dst, y.relu())


def step(number):
    layer.zero_grad()
    result = messages(h, src, dst)
    result.sum().backward()
    return torch.cat([result.detach().flatten(), layer.weight.grad.flatten()])
