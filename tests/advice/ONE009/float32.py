"""bfloat16 beside float32 on a CPU without bfloat16 instructions."""
# logs: none
# env: ONEDNN_VERBOSE=1
# env: ONEDNN_MAX_CPU_ISA=AVX512_CORE
# graphs: 0

import torch

torch.manual_seed(0)
torch.backends.mkldnn.matmul.fp32_precision = "bf16"
layers = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 256)).eval()
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 256)).eval()
model = model.to(torch.bfloat16)
x = torch.randn(64, 256, dtype=torch.bfloat16)
y = x.float()
# before:
# after:
# model = model.float()
# x = x.float()
# end


def step(number):
    with torch.no_grad():
        layers(y)
        return model(x)
