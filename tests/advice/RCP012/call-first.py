"""A module that keeps its state: the first call finds one without a gradient."""

import torch


class Neuron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.register_buffer("membrane", torch.zeros(4, 8))

    def forward(self, x):
        start = torch.zeros_like(self.membrane).sum()
        self.membrane = torch.relu(self.inner(x)) + start
        return self.membrane


x = torch.ones(4, 8)
model = torch.nn.Sequential(Neuron(), torch.nn.Linear(8, 8))
# before:
# after:
# model(x)
# end
model = torch.compile(model, backend="aot_eager")


def step(number):
    loss = model(x).mean()
    loss.backward()
    return loss
