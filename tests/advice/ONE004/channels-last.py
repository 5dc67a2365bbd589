"""A stack of convolutions in the default layout, each between two conversions."""
# logs: none
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
widths = [16, 32, 32, 64]
model = torch.nn.Sequential(
    *(torch.nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:], strict=False))
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
