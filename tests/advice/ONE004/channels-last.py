"""Convolutions in torch's default layout, with activations between them that keep it."""
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(16, 32, 3, padding=1),
    torch.nn.GELU(),
    torch.nn.Conv2d(32, 64, 3, padding=1),
    torch.nn.GELU(),
    torch.nn.Conv2d(64, 16, 3, padding=1),
).eval()
x = torch.randn(4, 16, 56, 56)
# before:
# after:
# model = model.to(memory_format=torch.channels_last)
# x = x.to(memory_format=torch.channels_last)
# end


def step(number):
    with torch.no_grad():
        return model(x)
