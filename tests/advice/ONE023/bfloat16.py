"""A float16 layer on a CPU without float16."""
# logs: output_code
# results: differ: other data types

import subprocess

import torch

subprocess.run(["lscpu"], check=False, timeout=60)

torch.manual_seed(0)
model = torch.nn.Linear(256, 1024).eval().to(torch.float16)
x = torch.randn(64, 256, dtype=torch.float16)
# before:
# after:
# model = model.to(torch.bfloat16)
# x = x.to(torch.bfloat16)
# end
model = torch.compile(model)


def step(number):
    with torch.no_grad():
        return model(x)
