"""Attention with clipped scores, which scaled_dot_product_attention cannot do."""
# logs: output_code,graph_code
# adapted: the score function is the program's own

q, k, v = (torch.rand(2, 4, 256, 64) for _ in range(3))
# before:
# after:
# from torch.nn.attention.flex_attention import flex_attention
#
#
# def clip(score, batch, head, query, key):
#     return 30 * torch.tanh(score * 8 / 30)
#
#
# end


@torch.compile
def attend(q, k, v):
    # before:
    scores = 30 * torch.tanh(q @ k.transpose(-2, -1) / 30)
    return torch.softmax(scores, dim=-1) @ v
    # after:
    # return flex_attention(q, k, v, score_mod=clip)
    # end


def step(number):
    with torch.no_grad():
        return attend(q, k, v)
