"""A simulation counts its time in the compiled step."""

import torch


class Simulation:
    def __init__(self):
        self.pos = torch.arange(8.0)
        self.vel = torch.ones(8)
        self.t = 0.0

    @torch.compile(backend="aot_eager")
    def step(self, dt):
        self.pos = self.pos + dt * self.vel
        # before:
        self.t += dt
        # after:
        # pass
        # end


simulation = Simulation()


def step(number):
    dt = 0.01 + 0.001 * (number % 5)
    simulation.step(dt)
    # before:
    # after:
    # simulation.t += dt
    # end
    return simulation.pos, torch.tensor(simulation.t)
