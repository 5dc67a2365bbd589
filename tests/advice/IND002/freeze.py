"""A convolution and the activation behind it, not frozen: two passes over memory."""
# logs: output_code

import torch

torch.manual_seed(0)
model = torch.compile(torch.nn.Sequential(torch.nn.Conv2d(256, 256, 3), torch.nn.ReLU()).eval())
x = torch.randn(1, 256, 16, 16)


def step(number):
    with torch.no_grad():
        return model(x)
