"""A large table, trained on small batches."""
# logs: none
# adapted: two lines
# graphs: 0

TRACE = True
rows, width = 200_000, 32
# before:
embedding = torch.nn.Embedding(rows, width)
optimizer = torch.optim.Adam(embedding.parameters())
# after:
# embedding = torch.nn.Embedding(rows, width, sparse=True)
# optimizer = torch.optim.SparseAdam(embedding.parameters())
# end


def step(number):
    optimizer.zero_grad()
    y = embedding(torch.arange(number, number + 512)).square().mean()
    y.backward()
    optimizer.step()
    return y
