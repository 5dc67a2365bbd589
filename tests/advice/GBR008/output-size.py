"""Phonemes are as long as their durations say, and the batch is as long as its frames."""
# adapted: the number of frames has a name of its own

import torch


@torch.compile(backend="eager")
def expand(x, repeats, frames):
    # before:
    return torch.repeat_interleave(x, repeats, 0) * 2
    # after:
    # return torch.repeat_interleave(x, repeats, 0, output_size=frames) * 2
    # end


x = torch.rand(4, 8)
repeats = torch.tensor([1, 3, 2, 4])


def step(number):
    return expand(x, repeats, 10)
