"""A mean of what weights leave, which may be nothing: its gradient is divided by 0."""
# adapted: the two sides are named in the program

import torch

layer = torch.nn.Linear(8, 1)


@torch.compile(backend="aot_eager")
def loss(x, weights):
    errors = layer(x).square().squeeze(1)
    total = weights.sum()
    # before:
    if total == 0:
        return (errors * 0).sum()
    return (errors * weights).sum() / total
    # after:
    # safe = torch.where(total == 0, 1, total)
    # return torch.where(total == 0, (errors * 0).sum(), (errors * weights).sum() / safe)
    # end


x, weights = torch.ones(6, 8), torch.zeros(6)


def step(number):
    layer.weight.grad = None
    loss(x, weights).backward()
    return layer.weight.grad.clone()
