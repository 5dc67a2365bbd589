"""CUDA graphs are asked for on a CPU."""
# logs: +inductor,output_code

import torch

model = torch.nn.Linear(64, 64).eval()
x = torch.randn(8, 64)
# before:
model = torch.compile(model, mode="reduce-overhead")
# after:
# model = torch.compile(model)
# end


def step(number):
    with torch.no_grad():
        return model(x)
