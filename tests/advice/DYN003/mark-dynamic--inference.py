"""Inference over a data set, twice, whose last batch is smaller."""
# recorded: tracelens run

import functools

import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.randn(28, 16), batch_size=8)


@functools.partial(torch.compile, backend="eager")
def model(batch):
    return batch.relu() + 1


def batches():
    while True:
        yield from loader


order = batches()


def step(number):
    batch = next(order)
    # before:
    # after:
    # torch._dynamo.maybe_mark_dynamic(batch, 0)
    # end
    with torch.no_grad():
        return model(batch)
