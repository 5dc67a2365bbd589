"""The momentum of a compiled optimizer changes."""

import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(1e-3), momentum=0.5)
compiled = torch.compile(optimizer.step, backend="eager")
forward = torch.compile(model, backend="eager")
x = torch.ones(4, 8)


def step(number):
    optimizer.zero_grad()
    optimizer.param_groups[0]["momentum"] = 0.5 + 0.03 * (number % 12)
    loss = forward(x).square().mean()
    loss.backward()
    # before:
    compiled()
    # after:
    # optimizer.step()
    # end
    return loss
