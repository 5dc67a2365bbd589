"""A module reads what it kept of the calls before, and keeps more of it."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.kept = []

    def forward(self, x):
        if self.kept:
            x = x + 0 * self.kept[-1]
        h = self.linear(x)
        self.kept.append(h)
        return h


model = Model().eval()
compiled = torch.compile(model, backend="eager")
x = torch.ones(2, 8)


def step(number):
    # before:
    # after:
    # model.kept.clear()
    # end
    return compiled(x)
