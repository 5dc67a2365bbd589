"""An operator whose result has other strides than it says."""
# adapted: the printed line is the body of the fake implementation

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.randn(4, 8)


@torch.library.custom_op("mylib::swap", mutates_args=())
def swap(x: torch.Tensor) -> torch.Tensor:
    # before:
    return x.t().contiguous().t()
    # after:
    # return x.clone(memory_format=torch.contiguous_format)
    # end


@swap.register_fake
def _(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.compile
def fn(x):
    return torch.relu(swap(x)) + 1


def step(number):
    try:
        return fn(x)
    except Exception:
        traceback.print_exc()
        return None
