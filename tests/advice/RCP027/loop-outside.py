"""Tasks with heads of their own: the batch has another key in each call."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        return self.out(torch.tanh(x)).sum()


names = ["a", "b", "c", "d", "e"]
torch.manual_seed(0)
body = nn.Linear(8, 16)
heads = nn.ModuleDict({name: Head() for name in names})
# before:
called_body, called_heads = body, heads
# after:
# called_body = torch.compile(body, backend="eager")
# called_heads = {name: torch.compile(head, backend="eager") for name, head in heads.items()}
# end


def loss(x, targets):
    hidden = called_body(x)
    total = 0
    for name, target in targets.items():
        total = total + (called_heads[name](hidden) - target) ** 2
    return total


# before:
compiled = torch.compile(loss, backend="eager")
# after:
# compiled = loss
# end


def step(number):
    return compiled(torch.ones(4, 8), {names[number % 5]: torch.ones(())})
