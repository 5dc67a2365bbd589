"""One large table, looked up twice in a compiled step."""
# logs: output_code,graph_code

import torch

torch.manual_seed(0)
rows, width = 100_000, 32
# before:
embedding = torch.nn.Embedding(rows, width)
optimizer = torch.optim.Adam(embedding.parameters())
# after:
# embedding = torch.nn.Embedding(rows, width, sparse=True)
# embedding.forward = torch.compiler.disable(embedding.forward)
# optimizer = torch.optim.SparseAdam(embedding.parameters())
# end


@torch.compile
def loss(words, others):
    return torch.nn.functional.logsigmoid((embedding(words) * embedding(others)).sum(-1)).mean()


def step(number):
    optimizer.zero_grad()
    y = loss(torch.arange(number, number + 512), torch.arange(5000, 5512))
    y.backward()
    optimizer.step()
    return y
