"""The same with a time that the body keeps, and that the wind is a function of."""
# logs: graph_breaks,recompiles,guards,graph_code
# adapted: both sides are named in the program

import torch


class Body:
    def __init__(self):
        self.time = 0.0

    def substep(self, x, v, dt):
        # before:
        v = v + dt * torch.sin(torch.tensor(self.time * 6.0))
        if (v.abs() > 0.5).any():
            v = v.clamp(-0.5, 0.5)
        self.time += dt
        # after:
        # v = v + dt * torch.sin(self.time * 6.0)
        # v = torch.where((v.abs() > 0.5).any(), v.clamp(-0.5, 0.5), v)
        # self.time = self.time + dt
        # end
        return x + dt * v, v

    def frame(self, x, v, n):
        for _ in range(n):
            x, v = self.substep(x, v, 0.1 / n)
        return x, v


body = Body()
# before:
frame = torch.compile(body.frame, backend="aot_eager")
# after:
# body.substep = torch.compile(body.substep, backend="aot_eager")
# frame = body.frame
# end


def step(number):
    # before:
    body.time = 0.0
    # after:
    # body.time = torch.tensor(0.0)
    # end
    return frame(torch.linspace(0.0, 1.0, 8), torch.ones(8), 3 + number % 2)
