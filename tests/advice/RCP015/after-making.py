"""A cache of keys that a prompt makes and each token makes longer."""

import torch


@torch.compile(backend="eager")
def attend(x, past=None):
    keys = x.view(1, -1, 2, 4).transpose(1, 2)
    if past is not None:
        keys = torch.cat([past[0], keys], 2)
    return keys.sum(), [keys]


def step(number):
    _, past = attend(torch.ones(1, 6 + 3 * number, 8))
    # before:
    # after:
    # past = [t.clone(memory_format=torch.contiguous_format) for t in past]
    # end
    for _ in range(3):
        total, past = attend(torch.ones(1, 1, 8), past)
    return total
