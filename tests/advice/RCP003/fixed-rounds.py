"""A decoder that goes on with fewer rows as sequences end; then padded and masked."""

import torch

LONGEST = 6


@torch.compile(backend="eager")
def decode(x, lengths):
    # before:
    steps = lengths.tolist()
    out = 0
    for t in range(max(steps)):
        rows = sum(n > t for n in steps)
        out = out + (x[:rows, t] * 2).sum()
    # after:
    # out = 0
    # for t in range(LONGEST):
    #     out = out + (x[:, t] * 2 * (lengths > t)).sum()
    # end
    return out


x = torch.arange(24.0).reshape(4, 6)


def step(number):
    return decode(x, torch.tensor([6, 5, 3 + number % 2, 2]))
