"""A tuned layer, in a run in which tuning takes most of the time to compile."""
# logs: output_code

import torch._inductor.config

torch._inductor.config.freezing = True
model = torch.compile(torch.nn.Linear(256, 512).eval(), mode="max-autotune-no-cudagraphs")
x = torch.randn(64, 256)


def step(number):
    with torch.no_grad():
        return model(x)
