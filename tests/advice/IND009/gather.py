"""Each row has a place of its own."""
# logs: output_code,perf_hints
# env: OMP_NUM_THREADS=2

import torch

torch.manual_seed(0)
x = torch.rand(4096, 64)
index = torch.randperm(4096)
origin = index.argsort()


@torch.compile
def messages(x):
    # before:
    return torch.zeros_like(x).index_add(0, index, x * 2)
    # after:
    # return (x * 2)[origin]
    # end


def step(number):
    return messages(x)
