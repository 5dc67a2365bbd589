"""AdamW that updates each tensor by itself."""
# logs: none
# graphs: 0

TRACE = True
model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(6)])
# before:
optimizer = torch.optim.AdamW(model.parameters())
# after:
# optimizer = torch.optim.AdamW(model.parameters(), fused=True)
# end
x = torch.rand(32, 16)


def step(number):
    y = model(x)
    y.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return y
