"""A cache that every call appends to."""

import torch

# before:
cache = []


@torch.compile(backend="eager")
def attend(new, position):
    cache.append(new)
    keys = torch.cat(cache, 1)
    scores = new @ keys.transpose(1, 2)
    return scores.softmax(-1) @ keys


# after:
# cache = torch.zeros(2, 64, 8)
#
#
# @torch.compile(backend="eager")
# def attend(new, position):
#     cache.index_copy_(1, position, new)
#     scores = new @ cache.transpose(1, 2)
#     unused = torch.arange(64) > position
#     return scores.masked_fill(unused, float("-inf")).softmax(-1) @ cache
# end


def step(number):
    return attend(torch.ones(2, 1, 8), torch.tensor([number]))
