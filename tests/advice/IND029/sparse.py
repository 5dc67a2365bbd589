"""A large table in a compiled step, trained on small batches."""
# logs: output_code,graph_code
# adapted: two lines

import torch

torch.manual_seed(0)
rows, width = 100_000, 32
# before:
embedding = torch.nn.Embedding(rows, width)
optimizer = torch.optim.Adam(embedding.parameters())
# after:
# embedding = torch.nn.Embedding(rows, width, sparse=True)
# optimizer = torch.optim.SparseAdam(embedding.parameters())
# end


@torch.compile
def loss(ids):
    return torch.nn.functional.logsigmoid(embedding(ids)).mean()


def step(number):
    optimizer.zero_grad()
    y = loss(torch.arange(number, number + 512))
    y.backward()
    optimizer.step()
    return y
