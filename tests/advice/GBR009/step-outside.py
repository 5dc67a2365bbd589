"""The whole step of a training is compiled, with its optimizer."""

import torch

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 8)


# before:
@torch.compile(backend="aot_eager")
def train(x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.detach()


# after:
# compiled = torch.compile(lambda x: model(x).square().mean(), backend="aot_eager")
#
#
# def train(x):
#     optimizer.zero_grad()
#     loss = compiled(x)
#     loss.backward()
#     optimizer.step()
#     return loss.detach()
#
#
# end
def step(number):
    return train(x)
