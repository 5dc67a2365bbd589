"""AdamW that updates each tensor by itself."""
# logs: none
# adapted: `step` is the name of the whole step here

TRACE = True
model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(6)])
optimizer = torch.optim.AdamW(model.parameters())
x = torch.rand(32, 16)
# before:
update = optimizer.step
# after:
# update = torch.compile(optimizer.step)
# end


def step(number):
    y = model(x)
    y.sum().backward()
    update()
    optimizer.zero_grad()
    return y
