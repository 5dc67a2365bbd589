"""A line of the program's own changes the learning rate of a compiled optimizer."""

import math

import torch

model = torch.nn.Linear(8, 8)
# before:
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# after:
# optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-3))
# end
compiled = torch.compile(optimizer.step, backend="eager")
x = torch.ones(4, 8)


def step(number):
    new = 1e-3 * 0.5 * (1 + math.cos(number / 10))
    for group in optimizer.param_groups:
        # before:
        group["lr"] = new
        # after:
        # group['lr'].fill_(new)
        # end
        pass
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    compiled()
    return loss
