"""flex_attention that is called in eager mode."""
# logs: output_code
# graphs: 0

import torch
from torch.nn.attention.flex_attention import flex_attention

torch.manual_seed(0)
# before:
# after:
# flex_attention = torch.compile(flex_attention)
# end
q, k, v = torch.randn(3, 1, 2, 128, 32)


def step(number):
    with torch.no_grad():
        return flex_attention(q, k, v)
