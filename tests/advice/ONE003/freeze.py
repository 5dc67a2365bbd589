"""A compiled convolution whose weights are reordered in each call."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
model = torch.compile(torch.nn.Conv2d(64, 64, 3).eval())
x = torch.randn(1, 64, 14, 14)


def step(number):
    with torch.no_grad():
        return model(x)
