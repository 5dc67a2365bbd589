"""Attention that is written out, in float32 without TF32."""
# device: cuda
# logs: output_code
# results: differ, TF32 has ten bits of mantissa

q, k, v = (torch.randn(8, 8, 512, 64, device="cuda") for _ in range(3))


@torch.compile
def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / 8.0
    return scores.softmax(dim=-1) @ v


def step(number):
    with torch.no_grad():
        return attention(q, k, v)
