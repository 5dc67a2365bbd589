"""All pairs of a tensor: the operator selects them within itself."""

import torch


@torch.compile(backend="eager")
def differences(x):
    # before:
    pairs = torch.combinations(x)
    # after:
    # pairs = x[torch.triu_indices(len(x), len(x), 1).T]
    # end
    return pairs[:, 0] - pairs[:, 1]


def step(number):
    return differences(torch.arange(4.0 + number % 3))
