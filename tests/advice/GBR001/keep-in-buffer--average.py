"""A running average of the loss, which the compiled function of a training step keeps."""

import torch

model = torch.nn.Linear(8, 1)


class Average:
    def __init__(self):
        # before:
        self.value = 0.0
        # after:
        # self.value = torch.tensor(0.0)
        # end

    def loss(self, x):
        loss = model(x).square().mean()
        # before:
        self.value = 0.9 * self.value + 0.1 * loss.item()
        # after:
        # self.value = 0.9 * self.value + 0.1 * loss.detach()
        # end
        return loss + sum(p.square().sum() for p in model.parameters())


average = Average()
compiled = torch.compile(average.loss, backend="aot_eager")
x = torch.randn(4, 8)


def step(number):
    model.zero_grad()
    loss = compiled(x)
    loss.backward()
    return loss.detach()
