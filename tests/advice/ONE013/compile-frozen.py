"""A bfloat16 layer and its activation, not compiled."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(192, 768), torch.nn.GELU(), torch.nn.Linear(768, 192))
model = model.eval().to(torch.bfloat16)
x = torch.randn(68, 192, dtype=torch.bfloat16)
# before:
# after:
# import torch._inductor.config
# torch._inductor.config.freezing = True
# model = torch.compile(model.eval())
# with torch.no_grad(): model(x)
# end


def step(number):
    with torch.no_grad():
        return model(x)
