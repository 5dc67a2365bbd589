"""A function of arrays, all of which numpy made in float64."""
# logs: graph_code

import numpy as np
import torch

rng = np.random.default_rng(0)
z, w = rng.standard_normal((2048, 128)), rng.standard_normal((128, 128))
# before:
# after:
# z = z.astype("float32"); w = w.astype("float32")
# end


@torch.compile
def priced(z, w):
    return np.exp(0.1 * (z @ w)).mean(-1)


def step(number):
    return torch.from_numpy(priced(z, w))
