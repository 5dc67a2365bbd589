"""A table of positions that longer inputs make anew: the first call leaves the longest."""

import torch


class Positions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", None, persistent=False)

    def rows(self, n):
        if self.table is not None and self.table.shape[0] >= n:
            return self.table[:n]
        table = torch.outer(torch.arange(n), torch.linspace(1.0, 0.1, 8))
        self.register_buffer("table", table, persistent=False)
        return table

    def forward(self, x):
        return x + self.rows(x.shape[1]).sin()


lengths = [16, 24, 43, 31, 57, 90, 57, 16]
inputs = [torch.rand(2, length, 8) for length in lengths]
model = Positions()
# before:
# after:
# x = inputs[5]
# model(x)
# end
compiled = torch.compile(model, backend="eager")


def step(number):
    return compiled(inputs[number % len(inputs)])
