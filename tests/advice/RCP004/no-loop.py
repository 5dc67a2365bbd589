"""A loop of as many rounds as an argument says."""

import torch


@torch.compile(backend="eager")
# before:
def powered(x, n):
    for _ in range(n):
        x = x * 1.5
    return x


# after:
# def powered(x, n):
#     return x * 1.5**n
# end


x = torch.ones(8)


def step(number):
    # before:
    return powered(x, number % 6 + 2)
    # after:
    # return powered(x, torch.tensor(number % 6 + 2))
    # end
