"""A list of factors that a module holds under a keyword of Python, as `config` files name them."""

import traceback

import torch


class Scaled(torch.nn.Module):
    def __init__(self, **factors):
        super().__init__()
        for name, factor in factors.items():
            setattr(self, name, factor)

    def forward(self, x):
        # before:
        return x * sum(getattr(self, "lambda"))
        # after:
        # return x * sum(self.weights)
        # end


model = torch.compile(Scaled(**{"lambda": [0.5, 2.0], "weights": [0.5, 2.0]}), backend="eager")
x = torch.randn(8)


def step(number):
    try:
        return model(x)
    except Exception:
        traceback.print_exc()
        return None
