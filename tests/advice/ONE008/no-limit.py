"""oneDNN is kept to AVX2 where Inductor's code uses AVX-512."""
# logs: output_code
# env: ONEDNN_VERBOSE=1
# env: ONEDNN_MAX_CPU_ISA=AVX2

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.GELU()).eval()
model = torch.compile(model)
x = torch.randn(2, 8, 28, 28)


def step(number):
    with torch.no_grad():
        return model(x)
