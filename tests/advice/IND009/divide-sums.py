"""The mean of what arrives at each place: a graph network's messages."""
# logs: output_code,perf_hints
# env: OMP_NUM_THREADS=1

import torch

torch.manual_seed(0)
x = torch.rand(8192, 64)
index = torch.randint(0, 512, (8192,))
counts = index.bincount(minlength=512).clamp(min=1)[:, None]


@torch.compile
def messages(x):
    # before:
    places = index[:, None].expand(8192, 64)
    return torch.zeros(512, 64).scatter_reduce(0, places, x * 2, "mean", include_self=False)
    # after:
    # return torch.zeros(512, 64).index_add(0, index, x * 2) / counts
    # end


def step(number):
    return messages(x)
