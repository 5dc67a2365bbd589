"""An autograd.Function reads a number out of a tensor to scale by: a symbol cannot leave it."""

import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        # before:
        top = x.abs().max().item()
        # after:
        # top = x.abs().max().detach()
        # end
        ctx.top = top + 1.0
        return x / ctx.top

    @staticmethod
    def backward(ctx, given):
        return given / ctx.top


linear = torch.nn.Linear(8, 8)


@torch.compile(backend="aot_eager")
def compute(x):
    return Scaled.apply(linear(x)).square().mean()


x = torch.randn(16, 8)


def step(number):
    loss = compute(x)
    loss.backward()
    found = loss.detach(), linear.weight.grad.clone()
    linear.zero_grad()
    return found
