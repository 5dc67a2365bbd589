"""A line converts data to float64, and a matrix that numpy made meets it."""
# logs: graph_code

import numpy as np
import torch

torch.manual_seed(0)
WEIGHT = np.outer(np.hanning(512), np.hanning(512))
# before:
# after:
# WEIGHT = WEIGHT.astype("float32")
# end
rows = torch.rand(1024, 512)


@torch.compile
def projected(x):
    w = torch.from_numpy(WEIGHT)
    # before:
    y = x.double()
    # after:
    # y = x
    # end
    return torch.relu(y @ w).sum(-1)


def step(number):
    return projected(rows)
