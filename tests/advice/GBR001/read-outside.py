"""The loss is read inside the compiled function, for a protocol."""
# results: differ: the number is now a tensor

import torch

kept = []


@torch.compile(backend="eager")
def loss_of(x):
    loss = (x * x).mean()
    # before:
    kept.append(float(loss))
    # after:
    # end
    return loss


x = torch.randn(32, 32)


def step(number):
    # before:
    return loss_of(x)
    # after:
    # loss = loss_of(x)
    # kept.append(float(loss))
    # return loss
    # end
