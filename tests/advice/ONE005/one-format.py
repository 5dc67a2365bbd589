"""The same conversion, which nobody needs."""
# logs: none
# env: ONEDNN_VERBOSE=1
# env: ONEDNN_MAX_CPU_ISA=AVX2
# graphs: 0

import torch

torch.manual_seed(0)
x = torch.randn(8, 64, 56, 56).to(torch.bfloat16)


def step(number):
    # before:
    y = x.to_mkldnn().to_dense()
    # after:
    # y = x
    # end
    return torch.relu(y)
