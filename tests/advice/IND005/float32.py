"""Arithmetic in float64."""
# logs: output_code,graph_code
# results: differ: another type

x = torch.rand(64, 2048, dtype=torch.float64)
# before:
# after:
# x = x.float()
# end


@torch.compile
def waves(x):
    return torch.special.entr(x) + torch.erfinv(x * 0.9)


def step(number):
    return waves(x)
