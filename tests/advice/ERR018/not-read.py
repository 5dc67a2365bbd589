"""An object kept in a module, which refuses to tell its length: torch asks for it in a guard."""

import traceback

import torch


class Order(tuple):
    def __len__(self):
        raise NotImplementedError


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.orders = [Order((2, 3))]
        self.factor = sum(a * b for a, b in self.orders)

    def forward(self, x):
        # before:
        return x * sum(a * b for a, b in self.orders)
        # after:
        # return x * self.factor
        # end


model = torch.compile(Scaled(), backend="eager")
x = torch.randn(8)


def step(number):
    try:
        return model(x)
    except Exception:
        traceback.print_exc()
        return None
