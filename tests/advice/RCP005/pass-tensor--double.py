"""A step that shrinks, in double precision, and sizes that are not to be symbols."""

import torch


@torch.compile(backend="aot_eager", dynamic=False)
def euler(y, dt):
    return y + dt * torch.sin(y)


y = torch.linspace(0, 1, 16, dtype=torch.float64)


def step(number):
    dt = 0.1 * 0.7**number
    # before:
    # after:
    # dt = torch.tensor(dt, dtype=torch.float64)
    # end
    return euler(y, dt)
