"""A method of tensors on a value of NumPy's, in traced code."""
# adapted: the value is the program's

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
x = torch.randn(4, 8)


@torch.compile(backend="aot_eager", fullgraph=True)
def fn(x):
    value = x.numpy().sum()
    # before:
    return value.div(3.0)
    # after:
    # return torch.as_tensor(value).div(3.0)  # value: what NumPy returned
    # end


def step(number):
    try:
        return fn(x)
    except Exception:
        traceback.print_exc()
        return None
