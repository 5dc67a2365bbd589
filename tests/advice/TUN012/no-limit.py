"""A tuned layer of bfloat16, without the CPU's instructions for it."""
# logs: output_code
# env: ONEDNN_MAX_CPU_ISA=AVX512_CORE

import torch._inductor.config

torch._inductor.config.freezing = True
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU()).eval().bfloat16()
model = torch.compile(model, mode="max-autotune-no-cudagraphs")
x = torch.randn(256, 1024, dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x)
