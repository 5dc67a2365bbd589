"""An operator whose result has as many rows as the data says, and a graph that is left out."""
# device: cuda
# logs: cudagraphs,perf_hints
# env: TORCHINDUCTOR_GRAPH_PARTITION=0

torch._dynamo.config.capture_dynamic_output_shape_ops = True
x = torch.randn(256, 64, device="cuda")
w = torch.randn(64, 64, device="cuda")


@torch.compile(mode="reduce-overhead")
def selected(x):
    for _ in range(8):
        x = torch.relu(x @ w).softmax(-1)
    return torch.nonzero(x[:, 0] > 0.01) * 2


def step(number):
    return selected(x)
