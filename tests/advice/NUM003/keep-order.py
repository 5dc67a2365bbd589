"""Two layers behind signals whose elements are doubled, in training."""
# logs: graph_code,output_code
# results: differ, as the gradients of the first layer were zero

import torch
import torch.nn.functional as F
from torch import nn


class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4)

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        return F.gelu(self.norm(self.conv(x)))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Up(), Up()

    def forward(self, x):
        return self.second(self.first(x))


plain = Decoder()
model = torch.compile(plain)
x = torch.randn(4, 4, 16)


def step(number):
    plain.zero_grad()
    model(x).square().mean().backward()
    return plain.first.conv.weight.grad.abs().sum()
