"""A float32 model under autocast to bfloat16 on a CPU without AVX-512."""
# logs: output_code
# results: differ: other data types

import torch
import torch._inductor.config

torch._inductor.config.cpp.simdlen = 256  # as on a CPU with AVX2
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
model = torch.compile(model.eval())
x = torch.rand(64, 256)


def step(number):
    with torch.no_grad():
        # before:
        with torch.autocast("cpu", torch.bfloat16):
            model(x)
        # after:
        # with torch.autocast("cpu", enabled=False): model(x)
        # end
