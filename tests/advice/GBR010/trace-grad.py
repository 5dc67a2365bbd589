"""An inner loop of a meta-learner takes gradients within the compiled function."""

import torch

weight = torch.randn(8, 8, requires_grad=True)


@torch.compile(backend="aot_eager")
def adapted(x, y):
    fast = weight
    for _ in range(2):
        loss = (x @ fast - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, [fast])
        fast = (fast - 0.1 * gradient).detach().requires_grad_()
    return (x @ fast).detach()


x, y = torch.randn(4, 8), torch.randn(4, 8)


def step(number):
    return adapted(x, y)
