"""The time of a simulation, which a tensor is made of in each step."""
# logs: graph_breaks,recompiles,guards,graph_code

import torch


class Wind:
    def __init__(self):
        # before:
        self.time = 0.0
        # after:
        # self.time = torch.tensor(0.0)
        # end

    @torch.compile(backend="aot_eager")
    def step(self, v, dt):
        # before:
        return v + dt * torch.sin(torch.tensor(self.time * 6.0))
        # after:
        # return v + dt * torch.sin(self.time * 6.0)
        # end


wind = Wind()


def step(number):
    # before:
    wind.time += 0.01
    # after:
    # wind.time = wind.time + 0.01
    # end
    return wind.step(torch.ones(8), 0.01)
