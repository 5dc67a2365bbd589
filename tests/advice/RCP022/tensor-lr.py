"""A scheduler changes the learning rate of a compiled optimizer."""

import torch

model = torch.nn.Linear(8, 8)
# before:
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# after:
# optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-3))
# end
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
compiled = torch.compile(optimizer.step, backend="eager")
x = torch.ones(4, 8)


def step(number):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    compiled()
    scheduler.step()
    return loss
