"""Attention that is written out over the pixels of an image: q, k and v are permuted views."""
# logs: output_code,graph_code

q, k, v = (torch.rand(8, 64, 256).transpose(1, 2) for _ in range(3))


@torch.compile
def attend(q, k, v):
    # before:
    scores = torch.einsum("bie,bje->bij", q, k) * 64**-0.5
    y = torch.einsum("bij,bje->bie", scores.softmax(dim=-1), v)
    # after:
    # q, k, v = (t.contiguous()[None] for t in (q, k, v))
    # y = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0]
    # end
    return y


def step(number):
    with torch.no_grad():
        return attend(q, k, v)
