"""A sum over the middle of three dimensions, the last of which is short."""
# logs: output_code,graph_code
# env: OMP_NUM_THREADS=2

x = torch.rand(96, 4096, 8)


@torch.compile
def total(x):
    return (x * 2).sum(dim=1)


def step(number):
    return total(x)
