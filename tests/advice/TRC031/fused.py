"""A large table, trained on small batches."""
# logs: none
# graphs: 0
# expect: faster

TRACE = True
model = torch.nn.Embedding(200_000, 32)
# before:
optimizer = torch.optim.AdamW(model.parameters())
# after:
# optimizer = torch.optim.AdamW(model.parameters(), fused=True)
# end


def step(number):
    optimizer.zero_grad()
    y = model(torch.arange(number, number + 512)).square().mean()
    y.backward()
    optimizer.step()
    return y
