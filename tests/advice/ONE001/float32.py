"""A bfloat16 convolution whose padding is larger than its window."""
# logs: none
# env: ONEDNN_VERBOSE=all
# graphs: 0

import torch

torch.manual_seed(0)
model = torch.nn.Conv2d(3, 5, 11, padding=20).eval().to(torch.bfloat16)
x = torch.randn(2, 3, 17, 17, dtype=torch.bfloat16)
# before:
# after:
# model, x = model.float(), x.float()
# end


def step(number):
    with torch.no_grad():
        return model(x)
