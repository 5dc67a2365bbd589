"""A model that installs a hook and makes a table in its first call."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.done = {}

    def forward(self, x):
        if "hook" not in self.done:
            self.done["hook"] = 1
            self.inner.register_forward_hook(lambda *_: None)
        return self.inner(x) + 1


model = Model()
x = torch.ones(2, 8)
# before:
# after:
# model(x)
# end
compiled = torch.compile(model, backend="eager")


def step(number):
    return compiled(x)
