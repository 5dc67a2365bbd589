"""A model under autocast, whose weights are cast in each call."""
# logs: output_code

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
model = torch.compile(model.eval())
x = torch.rand(16, 256)


def step(number):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        return model(x)
