"""Rows in another order, drawn in each call, in training: a pattern of Inductor's fails on it."""

import traceback

import torch

STEPS = 2
x = torch.randn(64, 8)


class Shuffled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.score = torch.nn.Bilinear(8, 8, 1)

    def forward(self, x):
        return self.score(x[torch.randperm(x.size(0))].to(x.device), x)


torch.manual_seed(0)
model = torch.compile(Shuffled())


def step(number):
    torch.manual_seed(0)
    try:
        loss = model(x).sum()
        loss.backward()
    except Exception:
        traceback.print_exc()
        return None
    return loss.detach()
