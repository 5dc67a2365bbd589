"""Messages of edges: a layer of the joined features of both ends."""
# logs: graph_code

import torch

torch.manual_seed(0)
layer = torch.nn.Linear(128, 64)
h = torch.randn(1000, 64)
src, dst = torch.randint(0, 1000, (2, 10000))


@torch.compile
def messages(h, src, dst):
    # before:
    y = layer(torch.cat([h[src], h[dst]], -1))
    # after:
    # first, second = layer.weight.split([h.shape[1], h.shape[1]], dim=1)
    # y = (h @ first.t() + layer.bias)[src] + (h @ second.t())[dst]  # for layer(torch.cat([h[src], h[dst]], -1))
    # end
    return torch.zeros(1000, 64).index_add(0, dst, y.relu())


def step(number):
    layer.zero_grad()
    result = messages(h, src, dst)
    result.sum().backward()
    return torch.cat([result.detach().flatten(), layer.weight.grad.flatten()])
