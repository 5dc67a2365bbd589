"""Layers whose weights are inputs of the graph."""
# logs: output_code

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3))
model = torch.compile(model.eval())
x = torch.randn(4, 32, 28, 28)


def step(number):
    with torch.no_grad():
        return model(x)
