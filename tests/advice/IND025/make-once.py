"""A mask_mod that is made anew for each call: the limit of recompiles is hit."""
# logs: recompiles
# env: TORCHDYNAMO_VERBOSE=0

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch.manual_seed(0)
attend = torch.compile(flex_attention, backend="eager")
q, k, v = torch.randn(3, 1, 2, 128, 32)


def masked():
    mask_mod = eval("lambda b, h, q_idx, kv_idx: q_idx >= kv_idx")
    return create_block_mask(mask_mod, None, None, 128, 128, device="cpu")


once = masked()


def step(number):
    with torch.no_grad():
        # before:
        mask = masked()
        # after:
        # mask = once
        # end
        return attend(q, k, v, block_mask=mask)
