"""A matrix is turned around in memory and converted, in each step."""
# logs: none

TRACE = True
a = torch.rand(1024, 1024)


def model(x):
    return x.t().contiguous().to(torch.float64).sum()


# before:
# after:
# model = torch.compile(model)
# end


def step(number):
    return model(a)
