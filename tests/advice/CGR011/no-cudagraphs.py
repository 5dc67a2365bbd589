"""CUDA graphs are asked for on a CPU, with tuning."""
# logs: +inductor,output_code

import torch

model = torch.nn.ReLU().eval()
x = torch.randn(8, 64)
# before:
model = torch.compile(model, mode="max-autotune")
# after:
# model = torch.compile(model, mode="max-autotune-no-cudagraphs")
# end


def step(number):
    with torch.no_grad():
        return model(x)
