"""A layer of small unitary matrices between two layers of real numbers, in training."""
# logs: output_code,perf_hints
# adapted: the names are those of the program

import torch

torch.manual_seed(0)


class Circuit(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.angles = torch.nn.Parameter(torch.rand(6, 4))

    def forward(self, x):
        state = torch.polar(torch.ones_like(x), x)
        for angles in self.angles:
            turn = torch.polar(torch.ones_like(angles), angles)
            turned = state * turn
            state = (turned + turned.roll(1, -1) * 1j) / 2**0.5
        return state.abs().square()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh())
        self.encoder.append(torch.nn.Linear(64, 4))
        self.circuit = Circuit()
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.circuit(self.encoder(x)))


model = Model()
x = torch.rand(16, 8)
# before:
compiled = torch.compile(model)
# after:
# model.encoder = torch.compile(model.encoder)
# compiled = model
# end


def step(number):
    result = compiled(x)
    result.square().mean().backward()
    model.zero_grad()
    return result.detach()
