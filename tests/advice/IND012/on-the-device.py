"""A mask that is made on the CPU, and copied in each call."""
# device: cuda
# logs: output_code
# adapted: the tensor of this program

n = 512
x = torch.randn(n, n, device="cuda")


@torch.compile
def masked(x):
    # before:
    ones = torch.ones(n, n).triu().sort(dim=0).values.to(x.device)
    # after:
    # ones = torch.ones(n, n, device=x.device).triu().sort(dim=0).values
    # end
    return (x @ x).relu() * ones


def step(number):
    return masked(x)
