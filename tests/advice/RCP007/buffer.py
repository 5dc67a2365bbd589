"""A module counts its calls."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # before:
        self.calls = 0
        # after:
        # self.register_buffer("calls", torch.tensor(0))
        # end

    def forward(self, x):
        self.calls += 1
        return x * self.calls


model = torch.compile(Model(), backend="eager")
x = torch.ones(8)


def step(number):
    return model(x)
