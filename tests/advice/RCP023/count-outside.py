"""A number with a point that the compiled function changes itself."""

import torch


class Agent:
    def __init__(self):
        self.rate = 1.0

    def act(self, x):
        # before:
        self.rate = max(0.05, self.rate * 0.99)
        # after:
        # pass
        # end
        return x + torch.ones_like(x) * self.rate


agent = Agent()
act = torch.compile(agent.act, backend="aot_eager")


def step(number):
    # before:
    # after:
    # agent.rate = max(0.05, agent.rate * 0.99)
    # end
    return act(torch.ones(4))
