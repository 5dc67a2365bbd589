"""A module counts its calls, and its gradients depend on the count."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))
        # before:
        self.calls = 0
        # after:
        # self.register_buffer("calls", torch.tensor(0))
        # end

    def forward(self, x):
        # before:
        self.calls += 1
        # after:
        # self.calls = self.calls + 1
        # end
        return (x * self.weight).square() * (self.calls / 10)


plain = Model()
model = torch.compile(plain, backend="aot_eager")
x = torch.ones(8)


def step(number):
    plain.weight.grad = None
    model(x).sum().backward()
    return plain.weight.grad.clone()
