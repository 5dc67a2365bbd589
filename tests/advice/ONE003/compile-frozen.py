"""Convolutions in eager mode, in channels-last, whose weights are reordered in each call."""
# logs: none
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
layers = torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3)
model = torch.nn.Sequential(*layers).eval().to(memory_format=torch.channels_last)
x = torch.randn(2, 3, 64, 64).to(memory_format=torch.channels_last)
# before:
# after:
# import torch._inductor.config
# torch._inductor.config.freezing = True
# model = torch.compile(model.eval())
# with torch.no_grad(): model(x)
# end


def step(number):
    with torch.no_grad():
        return model(x)
