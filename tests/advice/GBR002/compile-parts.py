"""A loop that a tensor's value ends: the whole function runs eagerly."""

import torch

END = 0
hidden = torch.nn.Linear(8, 8)


class Decoder:
    def step(self, x):
        return torch.tanh(hidden(x))

    def decode(self, x):
        for _ in range(4):
            x = self.step(x)
            if (x.sum(-1) < END).all():
                break
        return x


decoder = Decoder()
# before:
decoder.decode = torch.compile(decoder.decode, backend="eager")
# after:
# decoder.step = torch.compile(decoder.step, backend="eager")
# end
x = torch.randn(2, 8)


def step(number):
    with torch.no_grad():
        return decoder.decode(x)
