"""A print in a loop: the whole function runs eagerly; its body need not."""

import torch


def body(total, item):
    return total + torch.relu(item)


# before:
@torch.compile(backend="eager")
# after:
# body = torch.compile(body, backend="eager")
# end
def summed(items):
    total = items[0]
    for item in items:
        print("item")
        total = body(total, item)
    return total


items = [torch.ones(8), torch.ones(8)]


def step(number):
    return summed(items)
