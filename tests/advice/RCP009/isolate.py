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
for block in model:
    # before:
    block.compile(backend="eager")
    # after:
    # block.compile(backend="eager", isolate_recompiles=True)
    # end
x = torch.ones(8)


def step(number):
    return model(x)
