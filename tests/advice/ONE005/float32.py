"""bfloat16 images converted to oneDNN's format where nothing is generated for bfloat16."""
# logs: none
# env: ONEDNN_VERBOSE=1
# env: ONEDNN_MAX_CPU_ISA=AVX2
# graphs: 0
# results: differ: other data types

import torch

torch.manual_seed(0)
model = torch.nn.Identity()
x = torch.randn(8, 64, 56, 56).to(torch.bfloat16)
# before:
# after:
# model = model.float()
# x = x.float()
# end


def step(number):
    return model(x).to_mkldnn().to_dense()
