"""Spectra with one channel: the model is given three dimensions and makes four."""
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)


class Spectra(torch.nn.Module):
    def __init__(self):
        super().__init__()
        widths = (1, 32, 32, 64)
        self.layers = torch.nn.ModuleList(
            torch.nn.Conv2d(before, after, (9, 3), padding=(4, 1))
            for before, after in zip(widths, widths[1:])
        )

    def forward(self, x):
        x = x.unsqueeze(1)
        for layer in self.layers:
            x = torch.nn.functional.leaky_relu(layer(x), 0.1)
        return x


model = Spectra()
# before:
# after:
# model = model.to(memory_format=torch.channels_last)
# end
compiled = torch.compile(model, backend="eager")
x = torch.randn(4, 64, 60)


def step(number):
    with torch.no_grad():
        return compiled(x)
