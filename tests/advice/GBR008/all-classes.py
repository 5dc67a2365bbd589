"""The Dice loss of the classes that occur, in a loop over them."""

import torch

n = 5


@torch.compile(backend="eager")
def dice(probs, labels):
    # before:
    total, count = 0.0, 0
    for c in torch.unique(labels).tolist():
        of_class, p = labels == c, probs[..., c]
        total = total + 2 * (p * of_class).sum() / (p.sum() + of_class.sum())
        count += 1
    return 1 - total / count
    # after:
    # columns = torch.nn.functional.one_hot(labels, n)
    # occurs = columns.flatten(0, -2).any(0)
    # sizes = (probs + columns).flatten(0, -2).sum(0)
    # shares = 2 * (probs * columns).flatten(0, -2).sum(0) / sizes
    # return 1 - (shares * occurs).sum() / occurs.sum()
    # end


probs = torch.rand(2, 16, n).softmax(-1)
labels = [torch.arange(32).view(2, 16) % classes for classes in (3, 4, 5)]


def step(number):
    return dice(probs, labels[number % 3])
