"""A module counts its calls."""

# results: differ: the first call of each run is compared, it is the same
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


model = torch.compile(Model(), backend="eager")
x = torch.ones(8)


def step(number):
    return model(x)
