"""A whole training step is compiled."""

import torch

model = torch.nn.Linear(8, 8)


@torch.compile(backend="eager")
def loss_of(x):
    loss = model(x).square().mean()
    # before:
    loss.backward()
    # after:
    # end
    return loss


x = torch.randn(4, 8)


def step(number):
    loss = loss_of(x)
    # before:
    # after:
    # loss.backward()
    # end
    return loss
