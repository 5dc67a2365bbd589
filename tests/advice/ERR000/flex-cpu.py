"""Attention with a bias in its scores, trained on the CPU."""

# adapted: the bias of this program is a parameter

import traceback

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import flex_attention

STEPS = 2
q = torch.randn(1, 2, 32, 16, requires_grad=True)
bias = torch.arange(32.0)[:, None] - torch.arange(32.0)


def score_mod(score, b, h, i, j):
    return score + (i - j)


@torch.compile
def attention(q, bias):
    # before:
    return flex_attention(q, q, q, score_mod=score_mod)
    # after:
    # return F.scaled_dot_product_attention(q, q, q, attn_mask=bias)
    # end


def step(number):
    try:
        out = attention(q, bias)
        out.sum().backward()
    except Exception:
        traceback.print_exc()
        return None
    return out.detach()
