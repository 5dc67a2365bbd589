"""Inference under autocast casts the weights in each call."""
# logs: output_code
# results: differ: other data types

import torch

torch.manual_seed(0)
model = torch.nn.Linear(512, 512).eval()
x = torch.randn(16, 512)
# before:
# after:
# model = model.to(torch.bfloat16)
# end
model = torch.compile(model)


def step(number):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        return model(x)
