"""Compiled convolutions whose weights are reordered in each call."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
layers = torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3)
model = torch.compile(torch.nn.Sequential(*layers).eval())
x = torch.randn(2, 3, 64, 64)


def step(number):
    with torch.no_grad():
        return model(x)
