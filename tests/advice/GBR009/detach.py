"""A mask is wrapped in a Variable, as programs for torch 0.3 did."""

import torch
from torch.autograd import Variable

torch.manual_seed(0)
weight = torch.ones(8, requires_grad=True)


@torch.compile(backend="eager")
def dropped(x, keep):
    mask = x.new_ones(x.shape[1]) * keep
    # before:
    mask = Variable(mask, requires_grad=False) / keep
    # after:
    # mask = mask.detach() / keep
    # end
    return (x * mask * weight).sum()


x = torch.ones(4, 8)


def step(number):
    weight.grad = None
    dropped(x, 0.5).backward()
    return weight.grad
