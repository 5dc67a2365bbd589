"""Fake quantization keeps the range of what it saw as a number."""

import torch


class FakeQuant(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # before:
        self.high = 0.0
        # after:
        # self.register_buffer("high", torch.tensor(0.0))
        # end

    def forward(self, x):
        # before:
        self.high += 0.1 * (x.detach().abs().max().item() - self.high)
        scale = max(self.high, 1e-6) / 127
        zero = round(0.4 / scale)
        # after:
        # self.high = self.high + 0.1 * (x.detach().abs().max().detach() - self.high)
        # scale = torch.clamp(self.high, min=1e-6) / 127
        # zero = torch.round(0.4 / scale)
        # end
        return x + (((x / scale).round() + zero - zero) * scale - x).detach()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)
        self.of_first, self.of_second = FakeQuant(), FakeQuant()

    def forward(self, x):
        return self.second(self.of_second(self.first(self.of_first(x))))


plain = Model()
model = torch.compile(plain, backend="aot_eager")
x = torch.randn(8, 16)


def step(number):
    plain.zero_grad()
    model(x).square().sum().backward()
    return plain.first.weight.grad.clone()
