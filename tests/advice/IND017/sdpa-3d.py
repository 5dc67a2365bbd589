"""Attention that is written out with heads folded into the batch, as axial attention does."""
# logs: output_code,graph_code

q, k, v = (torch.rand(8, 128, 64) for _ in range(3))


@torch.compile
def attend(q, k, v):
    # before:
    scores = torch.einsum("bie,bje->bij", q, k) * 64**-0.5
    y = torch.einsum("bij,bje->bie", scores.softmax(dim=-1), v)
    # after:
    # y = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    # end
    return y


def step(number):
    with torch.no_grad():
        return attend(q, k, v)
