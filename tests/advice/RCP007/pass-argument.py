"""The settings of a program are an object of its module."""

import torch


class Settings:
    rows = 2


settings = Settings()


@torch.compile(backend="eager")
# before:
def scaled(x):
    return x * settings.rows


# after:
# def scaled(x, rows):
#     return x * rows
# end


x = torch.ones(8)


def step(number):
    settings.rows = number + 2
    # before:
    return scaled(x)
    # after:
    # return scaled(x, settings.rows)
    # end
