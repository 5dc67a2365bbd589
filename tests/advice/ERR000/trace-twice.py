"""A gradient penalty in a loss that is compiled as a whole."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
real = torch.rand(16, 1)
# before:
# after:
# torch._dynamo.config.trace_autograd_ops = True
# end


@torch.compile(backend="aot_eager")
def loss(real):
    mixed = (0.5 * real).requires_grad_(True)
    (slope,) = torch.autograd.grad(model(mixed).sum(), mixed, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def step(number):
    try:
        value = loss(real)
        value.backward()
    except Exception:
        traceback.print_exc()
        return None
    return value.detach()
