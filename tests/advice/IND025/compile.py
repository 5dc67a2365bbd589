"""Flex attention without a compiler."""
# logs: output_code

from torch.nn.attention.flex_attention import flex_attention

# before:
# after:
# flex_attention = torch.compile(flex_attention)
# end
q, k, v = (torch.rand(1, 2, 256, 64) for _ in range(3))


def causal(score, batch, head, query, key):
    return torch.where(query >= key, score, -float("inf"))


def step(number):
    with torch.no_grad():
        return flex_attention(q, k, v, score_mod=causal)
