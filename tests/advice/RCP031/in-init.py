"""A table is made in the first call."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # before:
        self.table = None
        # after:
        # self.table = torch.arange(8.0)
        # end

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(8.0)
        return x * self.table


model = Model()
x = torch.ones(8)

compiled = torch.compile(model, backend="eager")


def step(number):
    return compiled(x)
