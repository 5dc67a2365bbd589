"""Ten models of one class and ten widths, each compiled."""

# logs: recompiles
import torch

torch.manual_seed(0)


class Member(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(8, width)
        self.outer = torch.nn.Linear(width, 1)

    def forward(self, x):
        return self.outer(self.inner(x).relu())


members = [torch.compile(Member(width), backend="eager") for width in range(4, 24, 2)]
x = torch.ones(4, 8)


def step(number):
    return members[number % 10](x)
