"""A body is held above the floor in each of the small steps of a frame, as many as are asked for."""
# adapted: both sides are named in the program

import torch


class Body:
    def substep(self, x, v, dt):
        v = v - 9.8 * dt
        # before:
        if (x < 0).any():
            v = v.clamp(min=0.0)
        # after:
        # v = torch.where((x < 0).any(), v.clamp(min=0.0), v)
        # end
        return x + dt * v, v

    def frame(self, x, v, n):
        for _ in range(n):
            x, v = self.substep(x, v, 0.01)
        return x, v


body = Body()
# before:
frame = torch.compile(body.frame, backend="aot_eager")
# after:
# body.substep = torch.compile(body.substep, backend="aot_eager")
# frame = body.frame
# end


def step(number):
    return frame(torch.linspace(-0.1, 1.0, 8), torch.zeros(8), 3 + number % 4)
