"""Leaky ReLUs of a small MLP in training: `backward()` needs a mask of each."""
# logs: output_code,graph_code
# expect: faster

import torch
from torch.nn import functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            # before:
            y = F.leaky_relu(x)
            # after:
            # y = torch.utils.checkpoint.checkpoint(F.leaky_relu, x, use_reentrant=False)
            # end
            x = y
        return x.square().mean()


model = Net()
compiled = torch.compile(model)
x = torch.randn(4096, 64)


def step(number):
    model.zero_grad()
    loss = compiled(x)
    loss.backward()
    return loss.detach()
