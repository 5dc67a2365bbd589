"""A graph that is kept for a second backward, through a model with donated buffers."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
# before:
# after:
# torch._functorch.config.donated_buffer = False
# end
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
x = torch.rand(16, 8)


@torch.compile
def loss(x):
    return model(x).sin().exp().sum()


def step(number):
    try:
        loss(x).backward()
        model.zero_grad()
        value = loss(x)
        value.backward(retain_graph=True)
        value.backward()
    except Exception:
        traceback.print_exc()
        return None
    found = model[0].weight.grad.clone()
    model.zero_grad()
    return found
