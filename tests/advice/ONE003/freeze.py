"""Large weights under small images: they are laid out anew in every call."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
model = torch.compile(torch.nn.Conv2d(512, 512, 3, padding=1).eval())
x = torch.randn(2, 512, 4, 4)


def step(number):
    with torch.no_grad():
        return model(x)
