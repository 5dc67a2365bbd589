"""An ensemble: one function runs ten models of ten widths."""

# logs: recompiles
import torch

torch.manual_seed(0)
members = [
    torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    for width in range(4, 24, 2)
]


@torch.compile(backend="eager")
def predict(member, x):
    return member(x) * 2


x = torch.ones(4, 8)


def step(number):
    return predict(members[number % 10], x)
