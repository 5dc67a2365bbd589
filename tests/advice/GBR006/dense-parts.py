"""A layer of a graph network that multiplies with a sparse matrix."""

# adapted: the layer and its part have names of their own

import torch

x = torch.randn(16, 8)
edges = torch.stack([torch.arange(16), torch.arange(16).flip(0)])
adjacency = torch.sparse_coo_tensor(edges, torch.ones(16), (16, 16)).coalesce()


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(8, 8)

    def forward(self, adjacency, x):
        return torch.sparse.mm(adjacency, self.dense(x))


torch.manual_seed(0)
layer = Layer().eval()
# before:
layer = torch.compile(layer)
# after:
# layer.dense = torch.compile(layer.dense)
# end


def step(number):
    with torch.no_grad():
        return layer(adjacency, x)
