"""Inference over a data set, twice, whose last batch is smaller."""
# recorded: tracelens run

import functools

import torch

dataset, batch_size = torch.randn(28, 16), 8


@functools.partial(torch.compile, backend="eager")
def model(x):
    return x.relu() + 1


def step(number):
    start = number % 4 * batch_size
    x = dataset[start : start + batch_size]
    rows = len(x)
    # before:
    # after:
    # x = torch.cat([x, x.new_zeros(8 - len(x), *x.shape[1:])])
    # end
    with torch.no_grad():
        return model(x)[:rows]
