"""A grouped convolution that only a product of matrices computes in the default layout."""
# logs: none
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Conv2d(66, 66, 3, padding=1, groups=3).eval()
x = torch.randn(2, 66, 28, 28)
# before:
# after:
# model = model.to(memory_format=torch.channels_last)
# x = x.to(memory_format=torch.channels_last)
# end


def step(number):
    with torch.no_grad():
        return model(x)
