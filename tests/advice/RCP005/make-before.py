"""A time that goes on in steps, for a net that makes a batch of it, and is called with and without a goal."""

# logs: recompiles,graph_code,guards
import torch


@torch.compile(backend="aot_eager")
# before:
def velocity(x, t, goal=None):
    t = torch.full((x.shape[0],), t)
    shift = x.mean() if goal is None else goal
    return x * torch.sin(t)[:, None] + shift


# after:
# def velocity(x, t, goal=None):
#     shift = x.mean() if goal is None else goal
#     return x * torch.sin(t)[:, None] + shift
# end


x, goal = torch.linspace(0, 1, 12).view(4, 3), torch.ones(3)


def step(number):
    # before:
    t = 0.05 * number
    # after:
    # t = 0.05 * number
    # t = torch.full((x.shape[0],), t)
    # end
    return velocity(x, t, goal) - velocity(x, t)
