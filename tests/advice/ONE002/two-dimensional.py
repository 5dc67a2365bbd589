"""A grouped convolution of signals."""
# logs: none
# env: ONEDNN_VERBOSE=1
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Conv1d(66, 66, 3, padding=1, groups=3).eval()
x = torch.randn(2, 66, 4000)
# before:
# after:
# wide = torch.nn.Conv2d(66, 66, (1, 3), padding=(0, 1), groups=3).eval()
# wide.weight.data = model.weight.data.unsqueeze(2)
# wide.bias.data = model.bias.data
# model = wide.to(memory_format=torch.channels_last)
# x = x.unsqueeze(2).to(memory_format=torch.channels_last)
# end


def step(number):
    with torch.no_grad():
        return model(x)
