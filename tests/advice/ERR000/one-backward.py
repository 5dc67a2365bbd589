"""Two losses of one compiled function, each with a backward pass of its own."""

import traceback

import torch

STEPS = 2
torch.manual_seed(0)
actor, critic = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
x = torch.rand(16, 4)


@torch.compile(backend="aot_eager")
def losses(x):
    return actor(x).square().mean(), critic(x).square().mean()


def step(number):
    try:
        loss1, loss2 = losses(x)
        # before:
        loss1.backward()
        loss2.backward()
        # after:
        # (loss1 + loss2).backward()
        # end
    except Exception:
        traceback.print_exc()
        return None
    found = actor.weight.grad.clone(), critic.weight.grad.clone()
    actor.zero_grad(), critic.zero_grad()
    return found
