"""Layers are compiled: only the first of them gets an input without a gradient."""

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(8))

    def forward(self, x):
        return torch.relu(x @ self.weight)


model = torch.nn.Sequential(Layer(), Layer(), Layer())
# before:
for layer in model:
    layer.compile(backend="aot_eager")
# after:
# model = torch.compile(model, backend="aot_eager")
# end
x = torch.ones(4, 8)


def step(number):
    loss = model(x).mean()
    loss.backward()
    return loss
