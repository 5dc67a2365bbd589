"""An operator with a default that its implementation for fake tensors lacks."""
# adapted: the names and the body are the program's

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x, weight = torch.randn(4, 8), torch.randn(8, 3)

lib = torch.library.Library("mylib", "DEF")
lib.define("my_op(Tensor x, float eps=1e-5) -> Tensor")
lib.impl("my_op", lambda x, eps=1e-5: x + eps, "CPU")


# before:
def my_op_fake(x, eps):
    return torch.empty_like(x)


# after:
# def my_op_fake(x, eps=1e-5):  # of my_op(Tensor x, float eps=1e-5) -> Tensor
#     return torch.empty_like(x)
#
#
# end
torch.library.register_fake("mylib::my_op")(my_op_fake)


@torch.compile(backend="aot_eager", fullgraph=True)
def fn(x):
    return torch.ops.mylib.my_op(x) @ weight


def step(number):
    try:
        return fn(x)
    except Exception:
        traceback.print_exc()
        return None
