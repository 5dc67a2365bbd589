"""bfloat16 beside float32 where a limit hides the bfloat16 instructions."""
# logs: output_code
# env: ONEDNN_VERBOSE=1
# env: ONEDNN_MAX_CPU_ISA=AVX512_CORE
# results: differ: the instructions round differently

import os

import torch

print(
    "+ ONEDNN_MAX_CPU_ISA=AVX512_CORE python run.py" if "ONEDNN_MAX_CPU_ISA" in os.environ else ""
)
torch.manual_seed(0)
torch.backends.mkldnn.matmul.fp32_precision = "bf16"
layers = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 256)).eval()
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 256)).eval()
model = torch.compile(model.to(torch.bfloat16))
x = torch.randn(64, 256)


def step(number):
    with torch.no_grad():
        layers(x)
        return model(x.to(torch.bfloat16))
