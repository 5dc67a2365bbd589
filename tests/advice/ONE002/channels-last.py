"""A depthwise convolution with a large kernel in torch's default layout."""
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Conv2d(32, 32, 31, padding=15, groups=32).eval()
x = torch.randn(2, 32, 40, 40)
# before:
# after:
# model = model.to(memory_format=torch.channels_last)
# x = x.to(memory_format=torch.channels_last)
# end


def step(number):
    with torch.no_grad():
        return model(x)
