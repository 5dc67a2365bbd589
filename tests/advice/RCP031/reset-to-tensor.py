"""A neuron's potential is reset to None before each sequence, of which the last is shorter."""

import torch


class Neuron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.reset(8)

    def reset(self, count):
        # before:
        self.v = None
        # after:
        # self.v = torch.zeros(count)
        # end

    def forward(self, x):
        if self.v is None:
            self.v = torch.zeros_like(x)
        self.v = 0.9 * self.v + x
        return self.v


model = Neuron()
compiled = torch.compile(model, backend="eager")
sequences = [8, 8, 6]


def step(number):
    count = sequences[number % len(sequences)]
    model.reset(count)
    for _ in range(3):
        out = compiled(torch.ones(count))
    return out
