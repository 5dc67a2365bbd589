"""A step of meta-learning: the loss after an inner step is differentiated through its gradient."""

# adapted: the names are those of the program

import traceback

import torch
from torch.func import functional_call

STEPS = 2
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
compiled = torch.compile(model)
x = torch.linspace(-1, 1, 32).unsqueeze(1)
y = x.sin()


def adapted():
    fast = dict(model.named_parameters())
    # before:
    out = functional_call(compiled, fast, (x,))
    # after:
    # out = functional_call(model, fast, (x,))
    # end
    loss = (out - y).square().mean()
    grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
    return {name: one - 0.1 * grad for (name, one), grad in zip(fast.items(), grads, strict=True)}


def step(number):
    try:
        (compiled(x) - y).square().mean().backward()
        model.zero_grad()
        out = functional_call(model, adapted(), (x,))
        (out - y).square().mean().backward()
    except Exception:
        traceback.print_exc()
        return None
    found = model[0].weight.grad.clone()
    model.zero_grad()
    return found
