"""The mean of each sequence, in a loop over how long they are."""

import torch

model = torch.nn.Linear(4, 4)


# before:
@torch.compile(backend="eager")
def means(x, lengths):
    hidden = model(x).relu()
    return torch.stack([hidden[i, :n].mean(0) for i, n in enumerate(lengths.tolist())])


# after:
# @torch.compile(backend="eager")
# def encoded(x):
#     return model(x).relu()
# def means(x, lengths):
#     hidden = encoded(x)
#     return torch.stack([hidden[i, :n].mean(0) for i, n in enumerate(lengths.tolist())])
# end


x = torch.rand(3, 8, 4)
lengths = torch.tensor([3, 8, 5])


def step(number):
    return means(x, lengths).sum()
