"""Convolutions of volumes in torch's default layout."""
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv3d(16, 32, 3, padding=1),
    torch.nn.GELU(),
    torch.nn.Conv3d(32, 64, 3, padding=1),
    torch.nn.GELU(),
    torch.nn.Conv3d(64, 16, 3, padding=1),
).eval()
x = torch.randn(1, 16, 16, 16, 16)
# before:
# after:
# model = model.to(memory_format=torch.channels_last_3d)
# x = x.to(memory_format=torch.channels_last_3d)
# end


def step(number):
    with torch.no_grad():
        return model(x)
