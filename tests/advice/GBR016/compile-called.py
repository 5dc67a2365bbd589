"""Layers that are left out at random, in a loop over them."""

import random

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            if self.training and random.random() < 0.2:  # layer drop
                continue
            x = layer(x).relu()
        return x


torch.manual_seed(0)
random.seed(0)
net = Net()
# before:
net.compile(backend="eager")
# after:
# for number, layer in enumerate(net.layers):
#     net.layers[number] = torch.compile(layer, backend="eager")
# end
x = torch.ones(2, 8)


def step(number):
    return net(x)
