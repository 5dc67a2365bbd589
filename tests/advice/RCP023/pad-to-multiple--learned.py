"""Rows are summed in patches where their number allows it; the first call is compiled for its own."""

import torch


@torch.compile(backend="eager")
def patched(x):
    if x.shape[0] % 4 == 0:
        return x.reshape(-1, 4).sum()
    return x.sum() * 1.0


def step(number):
    x = torch.ones(4 + number % 9)
    # before:
    return patched(x)
    # after:
    # x = torch.nn.functional.pad(x, (0, -len(x) % 4))
    # torch._dynamo.maybe_mark_dynamic(x, 0)
    # return patched(x)
    # end
