"""Attention that is written out for windows in front of the heads: five dimensions."""
# logs: output_code,graph_code

q, k, v = (torch.rand(2, 4, 2, 64, 32) for _ in range(3))


@torch.compile
def attend(q, k, v):
    # before:
    scores = q @ k.transpose(-2, -1) * 32**-0.5
    y = scores.clamp(-1e4, 1e4).softmax(dim=-1) @ v
    # after:
    # folded = (t.flatten(0, -4) for t in (q, k, v))
    # y = torch.nn.functional.scaled_dot_product_attention(*folded).unflatten(0, q.shape[:-3])
    # end
    return y


def step(number):
    with torch.no_grad():
        return attend(q, k, v)
