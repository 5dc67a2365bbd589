"""A sampler counts its steps, and looks up in a list how much noise is left."""

import torch


class Schedule:
    def __init__(self):
        self.sigmas = [0.9, 0.7, 0.5, 0.3, 0.2, 0.1]
        self.index = 0


schedule = Schedule()


@torch.compile(backend="eager")
# before:
def denoise(x):
    return x * schedule.sigmas[schedule.index]


# after:
# def denoise(x, sigma):
#     return x * sigma
# end


x = torch.ones(8)


def step(number):
    schedule.index = number % 6
    # before:
    return denoise(x)
    # after:
    # return denoise(x, torch.tensor(schedule.sigmas[schedule.index]))
    # end
