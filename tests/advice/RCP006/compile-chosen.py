"""A name selects the adapter that a layer calls."""

import torch

NAMES = ["de", "fr", "es", "it"]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8)
        self.adapters = torch.nn.ModuleDict({name: torch.nn.Linear(8, 8) for name in NAMES})

    def forward(self, x, name):
        return self.adapters[name](torch.relu(self.body(x)))


model = Layer()
# before:
compiled = torch.compile(model, backend="eager")
# after:
# model.body.forward = torch.compile(model.body.forward, backend="eager")
# for adapter in model.adapters.values():
#     adapter.forward = torch.compile(adapter.forward, backend="eager")
# compiled = model
# end
x = torch.ones(2, 8)


def step(number):
    return compiled(x, NAMES[number % 4])
