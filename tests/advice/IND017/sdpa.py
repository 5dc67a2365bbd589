"""Attention that the program writes out in a way which Inductor does not recognise."""
# logs: output_code,graph_code

import torch

torch.manual_seed(0)


@torch.compile
def attend(q, k, v):
    # before:
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).clamp(-1e4, 1e4)
    y = torch.softmax(scores, -1) @ v
    # after:
    # y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    # end
    return y


q, k, v = torch.randn(3, 2, 8, 256, 64)


def step(number):
    with torch.no_grad():
        return attend(q, k, v)
