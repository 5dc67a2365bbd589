"""A recommender that spreads embeddings over a graph, by products with its sparse matrix."""

# adapted: the module keeps the parts, and its names are its own

import torch

torch.manual_seed(0)
edges = torch.randint(0, 500, (2, 5000))
adjacency = torch.sparse_coo_tensor(edges, torch.rand(5000), (500, 500))


class Spread(torch.nn.Module):
    def __init__(self, adj):
        super().__init__()
        self.table = torch.nn.Embedding(500, 16)
        adj = adj.coalesce()
        self.adj = adj
        self.edges = adj.indices().clone(), adj.values().clone(), adj.shape[0]

    def forward(self, wanted):
        x = self.table.weight
        total = x
        for _ in range(3):
            # before:
            x = torch.sparse.mm(self.adj, x)
            # after:
            # (row, col), value, size = self.edges
            # parts = value[:, None] * x[col]
            # x = parts.new_zeros(size, parts.shape[1]).index_add(0, row, parts)
            # end
            total = total + x
        return total[wanted].relu()


model = Spread(adjacency)
compiled = torch.compile(model)
wanted = torch.arange(64)


def step(number):
    model.zero_grad()
    out = compiled(wanted)
    out.sum().backward()
    return out.detach()
