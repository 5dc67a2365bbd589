"""Batches and lengths of one, in turns."""

# adapted: it has both dimensions
import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


sizes = [(4, 4), (1, 4), (1, 1), (4, 1), (5, 6)]


def step(number):
    x = torch.ones(sizes[number % 5])
    # before:
    # after:
    # torch._dynamo.decorators.mark_unbacked(x, 0)
    # torch._dynamo.decorators.mark_unbacked(x, 1)
    # end
    return doubled(x)
