"""A sum over the middle of three dimensions, the last of which is short."""
# logs: output_code,graph_code
# env: OMP_NUM_THREADS=2
# adapted: the data is laid out with the sum's dimension last

x = torch.rand(96, 4096, 8)
# before:
# after:
# x = x.transpose(1, 2).contiguous()
# end


@torch.compile
def total(x):
    # before:
    return (x * 2).sum(dim=1)
    # after:
    # return (x * 2).sum(dim=2)
    # end


def step(number):
    return total(x)
