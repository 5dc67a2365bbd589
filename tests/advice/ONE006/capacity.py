"""More products of different shapes than the cache has room for."""
# env: ONEDNN_VERBOSE=all
# env: ONEDNN_PRIMITIVE_CACHE_CAPACITY=2
# graphs: 0

import torch

torch.manual_seed(0)
layers = [torch.nn.Linear(n, 64, dtype=torch.bfloat16) for n in (32, 64, 96, 128, 160, 192)]
inputs = [torch.randn(8, layer.in_features, dtype=torch.bfloat16) for layer in layers]


def step(number):
    with torch.no_grad():
        return sum(layer(x) for layer, x in zip(layers, inputs, strict=True))
