"""Parts without gradients use two context managers."""

import torch


@torch.compile(backend="eager")
def doubled(x):
    return x * 2


x = torch.ones(8)


def step(number):
    gradients = torch.set_grad_enabled(number % 3 == 1)
    # before:
    state = torch.inference_mode() if number % 3 == 2 else gradients
    # after:
    # state = gradients
    # end
    with state:
        return doubled(x)
