"""A residual with a second derivative, in a loss that is compiled as a whole."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
x = torch.rand(16, 1)


# before:
# after:
# @torch.compiler.disable
# end
def residual(x):
    x.requires_grad_(True)
    y = model(x)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
    return bend + y


@torch.compile
def loss(x):
    return residual(x).pow(2).mean() * 2


def step(number):
    try:
        value = loss(x)
        value.backward()
    except Exception:
        traceback.print_exc()
        return None
    return value.detach()
