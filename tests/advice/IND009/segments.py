"""Rows are added by an index that is the same in each call."""
# logs: output_code,perf_hints
# env: OMP_NUM_THREADS=2

import torch

torch.manual_seed(0)
x = torch.rand(4096, 64)
index = torch.randint(0, 512, (4096,))
order = index.argsort(stable=True)
lengths = index.bincount(minlength=512)


@torch.compile
def messages(x):
    # before:
    return torch.zeros(512, 64).index_add(0, index, x * 2)
    # after:
    # return torch.segment_reduce((x * 2)[order], "sum", lengths=lengths, unsafe=True)
    # end


def step(number):
    return messages(x)
