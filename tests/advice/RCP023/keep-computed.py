"""A running number of a module, computed of it and of a number that comes with each call."""

import torch


class Track(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # before:
        self.level = 0.0
        # after:
        # self.register_buffer("level", torch.tensor(0.0, dtype=torch.float64))
        # end

    def forward(self, x, e):
        self.level = 0.95 * self.level + 0.05 * e
        return x * self.level


model = torch.compile(Track(), backend="aot_eager")


def step(number):
    number = 1.5 + number % 7
    # before:
    # after:
    # number = torch.tensor(number, dtype=torch.float64)
    # end
    return model(torch.ones(4), number)
