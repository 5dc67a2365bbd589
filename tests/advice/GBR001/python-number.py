"""An attribute is what NumPy made of a tuple: a NumPy number, which Dynamo takes for a tensor."""

# logs: graph_breaks,guards
import math

import numpy as np
import torch
import torch.nn.functional as F


class Codec(torch.nn.Module):
    def __init__(self, rates=(2, 4)):
        super().__init__()
        self.hop_length = np.prod(rates)
        # before:
        # after:
        # self.hop_length = self.hop_length.item()
        # end
        self.conv = torch.nn.Conv1d(1, 4, 8)

    def forward(self, x):
        length = x.shape[-1]
        padded = math.ceil(length / self.hop_length) * self.hop_length
        return self.conv(F.pad(x, (0, padded - length))).relu()


model = torch.compile(Codec(), backend="eager")
x = torch.rand(1, 1, 101)


def step(number):
    with torch.no_grad():
        return model(x)
