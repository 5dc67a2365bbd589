"""Data of numpy, and a function without parameters."""
# logs: graph_code

import numpy as np
import torch

array = np.random.default_rng(0).standard_normal((1024, 256))
# before:
x = torch.from_numpy(array)
# after:
# x = torch.from_numpy(array).float()
# end


@torch.compile
def similar(x):
    return torch.tanh(x).softmax(1) @ x.mT


def step(number):
    return similar(x)
