"""An operator whose implementation for fake tensors says another size."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x, weight = torch.randn(4, 8), torch.randn(8, 3)


@torch.library.custom_op("mylib::my_op", mutates_args=())
def my_op(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


# before:
@my_op.register_fake
def _(x):
    return x.new_empty(4, 5)


# after:
# @torch.library.register_fake("mylib::my_op")
# def _(x):
#     return torch.empty_like(x)
#
#
# end
@torch.compile(backend="aot_eager", fullgraph=True)
def fn(x):
    return my_op(x) @ weight


def step(number):
    try:
        return fn(x)
    except Exception:
        traceback.print_exc()
        return None
