"""A block is compiled, and its part is of another class in each layer."""

import torch


class A(torch.nn.Module):
    def forward(self, x):
        return x + 1


class B(torch.nn.Module):
    def forward(self, x):
        return x * 2


class C(torch.nn.Module):
    def forward(self, x):
        return x - 1


class D(torch.nn.Module):
    def forward(self, x):
        return x * 3


class Block(torch.nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x)


model = torch.nn.Sequential(Block(A()), Block(B()), Block(C()), Block(D()))
# before:
for block in model:
    block.compile(backend="eager")
# after:
# model = torch.compile(model, backend="eager")
# end
x = torch.ones(8)


def step(number):
    return model(x)
