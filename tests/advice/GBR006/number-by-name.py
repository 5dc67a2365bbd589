"""A step in a loop is written as torch took it before 1.5."""

import torch

params = [torch.randn(8, 8) for _ in range(3)]
means = [torch.zeros(8, 8) for _ in range(3)]


@torch.compile(backend="eager")
def update(grads):
    for p, mean, grad in zip(params, means, grads):
        # before:
        mean.mul_(0.9).add_(0.1, grad)
        # after:
        # x, tensor, number = mean.mul_(0.9), grad, 0.1
        # x.add_(tensor, alpha=number)
        # end
        p.sub_(0.01 * mean)
    return grads[0] + 1


grads = [torch.ones(8, 8) for _ in range(3)]


def step(number):
    return update(grads)
