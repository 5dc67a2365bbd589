"""A probability of dropout that differs from call to call."""

# results: differ: other random numbers are drawn
import torch


@torch.compile(backend="eager")
def dropped(x, p):
    # before:
    return torch.nn.functional.dropout(x, p=p, training=True)
    # after:
    # return x * (torch.rand_like(x) >= p) / (1 - p)
    # end


x = torch.ones(8)


def step(number):
    return dropped(x, 0.5 / (number + 1))
