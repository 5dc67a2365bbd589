"""A custom operator whose implementation for fake tensors counts what it would return."""

# adapted: the switch is set, too

import torch

x = torch.tensor([1.0, -2.0, 3.0, 4.0])


@torch.library.custom_op("picks::positive", mutates_args=())
def positive(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()


@positive.register_fake
def _(x):
    # before:
    n = int((x > 0).sum())
    # after:
    # n = torch.library.get_ctx().new_dynamic_size()
    # end
    return x.new_empty(n)


# before:
# after:
# torch._dynamo.config.capture_dynamic_output_shape_ops = True
# end


@torch.compile
def model(x):
    return positive(x).sum() * 2


def step(number):
    return model(x)
