"""Attention that is written out in a way that no pattern of Inductor's knows."""
# logs: output_code,graph_code

q, k, v = (torch.rand(2, 4, 256, 64) for _ in range(3))


@torch.compile
def attend(q, k, v):
    # before:
    scores = q.mul(0.125) @ k.transpose(-2, -1)
    top = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - top)
    y = torch.softmax(scores.clamp(-1e4, 1e4), dim=-1) @ v + 0 * weights.sum()
    # after:
    # y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    # end
    return y


def step(number):
    with torch.no_grad():
        return attend(q, k, v)
