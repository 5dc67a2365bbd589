"""Rows are selected by a mask where a value in their place would do."""
# device: cuda
# logs: cudagraphs,perf_hints
# env: TORCHINDUCTOR_GRAPH_PARTITION=0

torch._dynamo.config.capture_dynamic_output_shape_ops = True
x = torch.randn(256, 64, device="cuda")


@torch.compile(mode="reduce-overhead")
def selected(x):
    mask = x > 0
    # before:
    return x[mask].sum() * 2
    # after:
    # return torch.where(mask, x, 0).sum() * 2
    # end


def step(number):
    return selected(x)
