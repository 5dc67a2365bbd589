"""Data of numpy, and a model that was made to fit it."""
# logs: graph_code
# adapted: the data and the model have lines of their own

import numpy as np
import torch

array = np.random.default_rng(0).standard_normal((1024, 256))
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)
).double()
# before:
x = torch.from_numpy(array)
# after:
# x = torch.from_numpy(array).float(); model = model.float()
# end
model = torch.compile(model)


def step(number):
    loss = model(x).square().mean()
    loss.backward()
    return loss
