"""A module of torch's own, whose second result nobody reads."""
# logs: output_code,graph_code
# adapted: the call has a mask, too

import torch

attention = torch.nn.MultiheadAttention(64, 2, batch_first=True).eval()
x = torch.rand(2, 256, 64)
pad = torch.zeros(2, 256, dtype=torch.bool)


@torch.compile
def attend(x):
    # before:
    y, _ = attention(x, x, x, key_padding_mask=pad)
    # after:
    # y, _ = attention(x, x, x, key_padding_mask=pad, need_weights=False)
    # end
    return y


def step(number):
    with torch.no_grad():
        return attend(x)
