"""An input with and without a gradient, in training."""

import torch

model = torch.nn.Linear(8, 8)


@torch.compile(backend="aot_eager")
def loss_of(x):
    return model(x).square().mean()


def step(number):
    x = torch.ones(4, 8, requires_grad=number % 2 == 0)
    # before:
    # after:
    # x = x.detach().requires_grad_()
    # end
    loss = loss_of(x)
    loss.backward()
    return loss
