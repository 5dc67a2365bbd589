"""A simulation keeps its state as a list of Python's numbers, and shows it as a tensor."""

import torch


class Pendulum:
    def __init__(self):
        self.state = [0.1, 0.0]

    # before:
    # after:
    # @torch.compiler.disable
    # end
    def move(self, push):
        angle, speed = self.state
        speed = speed - 0.02 * angle + 0.01 * push
        self.state = [angle + 0.02 * speed, speed]
        return torch.tensor(self.state)


world = Pendulum()


@torch.compile(backend="aot_eager")
def act(x):
    return world.move(1.0) * 2 + x


def step(number):
    return act(torch.ones(2))
