"""A table of angles that longer inputs fill anew: the first calls leave its length."""

import torch


class Angles(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cached_len = 0
        self.register_buffer("cached", torch.zeros(64), persistent=False)

    def forward(self, x):
        if x.shape[0] <= self.cached_len:
            return x * self.cached[: x.shape[0]]
        angles = torch.arange(x.shape[0]) * 0.1
        self.cached[: x.shape[0]] = angles
        self.cached_len = x.shape[0]
        return x * angles


lengths = [16, 24, 40, 32, 40, 16]
inputs = [torch.rand(length) for length in lengths]
model = Angles()
# before:
# after:
# x = inputs[2]
# model(x)
# end
compiled = torch.compile(model, backend="eager")


def step(number):
    return compiled(inputs[number % len(inputs)])
