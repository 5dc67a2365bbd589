"""A compiled model takes its weights as inputs."""
# logs: output_code,graph_code

import torch

model = torch.compile(torch.nn.Linear(512, 512).eval())
x = torch.randn(16, 512)


def step(number):
    with torch.no_grad():
        return model(x)
