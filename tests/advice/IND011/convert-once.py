"""A model under autocast is converted, and called without it: data has to be converted, too."""
# logs: output_code
# results: differ: other data types

import contextlib

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
x = torch.rand(16, 256)
# before:
autocast = torch.autocast("cpu", torch.bfloat16)
# after:
# autocast = contextlib.nullcontext()
# model = model.to(torch.bfloat16)
# x = x.to(torch.bfloat16)
# end
model = torch.compile(model.eval())


def step(number):
    with torch.no_grad(), autocast:
        return model(x)
