"""A check of values that raises, in the compiled function, which Inductor compiles."""
# env: TORCH_LOGS=graph_breaks

import torch


@torch.compile
def safe(x):
    # before:
    if not torch.isfinite(x).all():
        raise ValueError("not finite")
    # after:
    # torch._assert_async(torch.isfinite(x).all(), "torch.isfinite(x).all()")
    # end
    return torch.log(x)


x = torch.rand(32) + 0.1


def step(number):
    if number == 1:  # the check is still made
        try:
            safe(x * float("nan"))
        except (RuntimeError, ValueError):
            return safe(x)
        raise AssertionError("nobody has checked")
    return safe(x)
