"""An operator of a model is given a tensor where it takes a number: no backend can compile it."""

import torch
from torch.nn import functional


class Block(torch.nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(8, 8, 3))
        # before:
        self.stride = stride
        # after:
        # self.stride = int(stride)
        # end

    def forward(self, x):
        return torch.relu(functional.conv1d(x, self.weight, stride=(self.stride,), padding=1))


class Stage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        strides = torch.tensor([2, 1])
        self.blocks = torch.nn.ModuleList([Block(stride) for stride in strides])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x * 2


model = torch.compile(Stage())
x = torch.rand(2, 8, 64)


def step(number):
    return model(x)
