"""An operator without a vector form beside others: exp and log stand for the power here."""
# logs: output_code,graph_code
# adapted: the operator is the program's own choice

x = torch.rand(16, 512, 60)


@torch.compile
def lanes(x):
    # before:
    return torch.special.zeta(torch.full_like(x, 2.0), x + 50.0) * 0.5
    # after:
    # q = x + 50.0
    # return (1 / q + 1 / (2 * q**2) + 1 / (6 * q**3)) * 0.5
    # end


def step(number):
    return lanes(x)
