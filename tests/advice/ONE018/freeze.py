"""A compiled bfloat16 layer that rearranges its weights inside of each product."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
model = torch.compile(torch.nn.Linear(384, 384, dtype=torch.bfloat16).eval())
x = torch.randn(68, 384, dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x)
