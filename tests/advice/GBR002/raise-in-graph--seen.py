"""A check of values that could as well compute, in a function that Inductor compiles."""
# env: TORCH_LOGS=graph_breaks

import torch


@torch.compile
def root(x):
    # before:
    if (x < 0).any():
        raise ValueError("negative")
    # after:
    # torch._assert_async(~(x < 0).any(), "~(x < 0).any()")
    # end
    return torch.sqrt(x)


x = torch.rand(32) + 0.1


def step(number):
    if number == 1:  # the check is still made
        try:
            root(-x)
        except (RuntimeError, ValueError):
            return root(x)
        raise AssertionError("nobody has checked")
    return root(x)
