"""A kernel that takes its width from the first batch, in a branch on values, and keeps it."""

import torch

inputs = (torch.randn(64, 8),)


class Kernel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.width = torch.nn.Parameter(torch.empty(1), requires_grad=False)
        self.init_required = True

    def forward(self, x):
        distance = torch.cdist(x, x)
        if self.init_required:
            if (distance > 0).any():
                self.width.copy_(distance.mean())
            self.init_required = False
        return torch.exp(-distance / self.width)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.kernel = Kernel()

    def forward(self, x):
        return self.kernel(self.layer(x).tanh()).mean(0)


model = Model().eval()
# before:
# after:
# model(*inputs)
# end
compiled = torch.compile(model)


def step(number):
    with torch.no_grad():
        return compiled(*inputs)
