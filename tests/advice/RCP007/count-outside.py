"""A layer counts its calls in an attribute of its class."""

import torch


class Layer(torch.nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        # before:
        Layer.calls += 1
        # after:
        # end
        return self.linear(x)


compiled = torch.compile(Layer().eval(), backend="eager")
x = torch.ones(2, 8)


def step(number):
    # before:
    # after:
    # Layer.calls += 1
    # end
    return compiled(x)
