"""A linear layer and the activation behind it, not frozen: MKL would leave the activation behind."""
# logs: output_code

import torch

torch.manual_seed(0)
model = torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 16384), torch.nn.ReLU()).eval())
x = torch.randn(16, 3)


def step(number):
    with torch.no_grad():
        return model(x)
