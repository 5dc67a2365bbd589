"""Forty products of different sizes, a kernel after each."""
# logs: output_code,graph_code

tensors = [torch.rand(n, 2 * n) for n in range(4, 44)]


@torch.compile
def update(tensors):
    return [torch.relu(t @ t.T) * 0.5 + 1 for t in tensors]


def step(number):
    return update(tensors)[0]
