"""A cache is filled in the first call."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        key = (x.shape[-1], x.dtype)
        if key not in self.cache:
            self.cache[key] = torch.arange(8.0)
        return x * self.cache[key]


model = Model()
x = torch.ones(8)

# before:
# after:
# model(x)
# end
compiled = torch.compile(model, backend="eager")


def step(number):
    return compiled(x)
