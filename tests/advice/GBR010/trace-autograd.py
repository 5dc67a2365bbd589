"""A whole training step is compiled."""

import torch

model = torch.nn.Linear(8, 8)


@torch.compile(backend="aot_eager")
def train(x):
    loss = model(x).square().mean()
    loss.backward()
    return loss.detach()


x = torch.randn(4, 8)


def step(number):
    model.zero_grad()
    return train(x)
