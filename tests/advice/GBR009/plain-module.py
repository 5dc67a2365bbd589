"""A model whose modules were replaced by scripted ones before it was compiled."""

import torch
from torch.utils import mkldnn

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
x = torch.randn(1, 3, 8, 8)
# before:
model = mkldnn.to_mkldnn(model)
x = x.to_mkldnn()
# after:
# end
compiled = torch.compile(model)


def step(number):
    with torch.no_grad():
        y = compiled(x)
    return y.to_dense() if y.is_mkldnn else y
