"""Dropout between the layers of a block in training: ATen draws the numbers, the rest is compiled."""
# logs: output_code,graph_code
# expect: faster
# results: differ: other random numbers

import torch

# before:
# after:
# torch._inductor.config.fallback_random = True
# end

model = torch.nn.Sequential(
    torch.nn.LayerNorm(128),
    torch.nn.Linear(128, 512),
    torch.nn.GELU(),
    torch.nn.Dropout(0.1),
    torch.nn.Linear(512, 128),
    torch.nn.Dropout(0.1),
)
compiled = torch.compile(model)
x = torch.randn(512, 128)


def step(number):
    model.zero_grad()
    compiled(x).sum().backward()
