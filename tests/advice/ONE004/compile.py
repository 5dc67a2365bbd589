"""The stack of convolutions, not compiled."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
widths = [16, 32, 32, 64]
model = torch.nn.Sequential(
    *(torch.nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:], strict=False))
).eval()
x = torch.randn(4, 16, 56, 56)
# before:
# after:
# model = torch.compile(model)
# end


def step(number):
    with torch.no_grad():
        return model(x)
