"""A branch on the members of an enumeration."""

import enum

import torch


class Pool(enum.Enum):
    MEAN = 1
    MAX = 2
    SUM = 3
    LAST = 4


# before:
@torch.compile(backend="eager")
def pooled(x, pool):
    if pool is Pool.MEAN:
        return x.mean(1)
    if pool is Pool.MAX:
        return x.amax(1)
    return x.sum(1) if pool is Pool.SUM else x[:, -1]


# after:
# @torch.compile(backend="eager")
# def by_mean(x):
#     return x.mean(1)
#
#
# @torch.compile(backend="eager")
# def by_max(x):
#     return x.amax(1)
#
#
# @torch.compile(backend="eager")
# def by_sum(x):
#     return x.sum(1)
#
#
# @torch.compile(backend="eager")
# def by_last(x):
#     return x[:, -1]
#
#
# POOLS = {Pool.MEAN: by_mean, Pool.MAX: by_max, Pool.SUM: by_sum, Pool.LAST: by_last}
# end

x = torch.arange(32.0).view(4, 8)


def step(number):
    pool = list(Pool)[number % 4]
    # before:
    return pooled(x, pool)
    # after:
    # return POOLS[pool](x)
    # end
