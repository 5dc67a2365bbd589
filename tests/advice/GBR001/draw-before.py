"""Layers are left out at random, as LayerDrop does, by numbers that NumPy draws."""
# results: differ: other random numbers

import numpy as np
import torch

layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))


@torch.compile(backend="eager")
def encode(x, drawn=None):
    for number, layer in enumerate(layers):
        # before:
        drawn = np.random.uniform(0, 1)
        if drawn < 0.3:
            continue
        x = layer(x)
        # after:
        # x = torch.where(drawn[number] < 0.3, x, layer(x))
        # end
    return x


x = torch.rand(4, 8)


def step(number):
    # before:
    return encode(x)
    # after:
    # return encode(x, torch.from_numpy(np.random.uniform(0, 1, 3)))
    # end
