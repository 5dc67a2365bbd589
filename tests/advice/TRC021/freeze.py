"""Convolutions of a single small image: compiled code calls ATen, and no oneDNN line tells."""
# logs: output_code,graph_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
layers = [torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3)]
model = torch.compile(torch.nn.Sequential(*layers).eval())
x = torch.randn(1, 64, 16, 16)
# What reaches oneDNN, and shows that its log is on.
eager, images = torch.nn.Conv2d(3, 8, 3).eval(), torch.randn(4, 3, 32, 32)


def step(number):
    with torch.no_grad():
        eager(images)
        return model(x)
