"""A grouped convolution of volumes in the default layout."""
# logs: none
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Conv3d(66, 66, 3, padding=1, groups=3).eval()
x = torch.randn(1, 66, 8, 16, 16)
# before:
# after:
# model = model.to(memory_format=torch.channels_last_3d)
# x = x.to(memory_format=torch.channels_last_3d)
# end


def step(number):
    with torch.no_grad():
        return model(x)
