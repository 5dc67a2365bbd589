"""torch.fx traces a model with a compiled layer."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.randn(4, 8)
model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), backend="eager")


class Outer(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def step(number):
    y = model(x)
    try:
        # before:
        torch.fx.symbolic_trace(Outer(model))
        # after:
        # torch.fx.symbolic_trace(Outer(getattr(model, '_orig_mod', model)))
        # end
    except Exception:
        traceback.print_exc()
    return y
