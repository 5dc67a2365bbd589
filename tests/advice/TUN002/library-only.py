"""A tuned layer of bfloat16, for which the library is faster than any template."""
# logs: output_code

import torch._inductor.config

torch._inductor.config.freezing = True
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU()).eval().bfloat16()
model = torch.compile(model, mode="max-autotune-no-cudagraphs")
x = torch.randn(64, 256, dtype=torch.bfloat16)


def step(number):
    with torch.no_grad():
        return model(x)
