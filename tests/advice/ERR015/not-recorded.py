"""A weight that is kept above zero within forward, while autograd records."""

import traceback

import torch

STEPS = 2
x = torch.randn(8, 4)


class Positive(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        # before:
        self.weight.clamp_(min=0)
        # after:
        # with torch.no_grad(): self.weight.clamp_(min=0)
        # end
        return x @ self.weight


model = torch.compile(Positive())


def step(number):
    try:
        loss = model(x).sum()
        loss.backward()
    except Exception:
        traceback.print_exc()
        return None
    return loss.detach()
