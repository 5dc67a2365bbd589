"""A limit that is made on the CPU inside of a graph of the GPU."""
# device: cuda
# logs: cudagraphs,perf_hints
# env: TORCHINDUCTOR_GRAPH_PARTITION=0

x = torch.randn(32, 64, device="cuda")


@torch.compile(mode="reduce-overhead")
def limited(x):
    # before:
    limit = torch.linspace(0, 2, 64).sort().values.to(x.device)
    # after:
    # limit = torch.linspace(0, 2, 64, device=x.device).sort().values
    # end
    return torch.minimum(torch.relu(x), limit)


def step(number):
    return limited(x)
