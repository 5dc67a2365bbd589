"""Layers that hand their scores on, in inference: the last one computes attention in one call."""
# logs: output_code,graph_code


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(64, 192)

    def forward(self, x, bias, last):
        q, k, v = (one.unflatten(-1, (4, 16)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        # before:
        # after:
        # if last:
        #     q, k, v = (t.contiguous() for t in (q, k, v))
        #     y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        #     return y.transpose(1, 2).flatten(2), None
        # end
        scores = q @ k.transpose(-2, -1) * 0.25 + bias
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2), scores


layers = torch.nn.ModuleList(Layer() for _ in range(2))
x, first = torch.randn(2, 512, 64), torch.zeros(2, 4, 512, 512)


@torch.compile
def run(x, bias):
    for layer in layers:
        x, bias = layer(x, bias, layer is layers[-1])
    return x


def step(number):
    with torch.no_grad():
        return run(x, first)
