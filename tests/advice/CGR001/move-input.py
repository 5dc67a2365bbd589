"""A table of factors that stays on the CPU goes into a graph of the GPU."""
# device: cuda
# logs: cudagraphs,perf_hints
# env: TORCHINDUCTOR_GRAPH_PARTITION=0

table = torch.rand(64)
x = torch.randn(32, 64, device="cuda")


@torch.compile(mode="reduce-overhead")
def scaled(x, table):
    return torch.relu(x) * table.to(x.device)


def step(number):
    # before:
    return scaled(x, table)
    # after:
    # return scaled(x, table.to(x.device))
    # end
