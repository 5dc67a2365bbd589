"""A bfloat16 layer that rearranges its weights in each call, not compiled."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

import torch

torch.manual_seed(0)
model = torch.nn.Linear(384, 384, dtype=torch.bfloat16).eval()
x = torch.randn(68, 384, dtype=torch.bfloat16)
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
