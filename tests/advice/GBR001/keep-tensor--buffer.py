"""A buffer that is a float is read as a number: it counts nothing."""

import torch


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        # before:
        scale = self.scale.item()
        # after:
        # scale = self.scale.detach()
        # end
        return torch.tanh(self.linear(x) * scale)


model = torch.compile(Scaled(), backend="eager")
x = torch.randn(4, 8)


def step(number):
    return model(x)
