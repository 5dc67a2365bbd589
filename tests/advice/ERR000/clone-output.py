"""A custom operator that returns its input where there is nothing to pad."""

import traceback

import torch

STEPS = 2
x = torch.randn(4, 16)


@torch.library.custom_op("pads::to_multiple", mutates_args=())
def to_multiple(x: torch.Tensor, multiple: int) -> torch.Tensor:
    rest = -x.size(-1) % multiple
    if rest == 0:
        # before:
        return x
        # after:
        # return x.clone()
        # end
    return torch.nn.functional.pad(x, (0, rest))


@to_multiple.register_fake
def _(x, multiple):
    return x.new_empty(x.size(0), x.size(1) + -x.size(-1) % multiple)


@torch.compile
def model(x):
    return to_multiple(x, 8).relu()


def step(number):
    try:
        return model(x)
    except Exception:
        traceback.print_exc()
        return None
