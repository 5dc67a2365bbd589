"""A convolution in eager mode whose weights are reordered in each call."""
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
model = torch.nn.Conv2d(64, 64, 3).eval()
x = torch.randn(1, 64, 14, 14)
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
