"""A result goes to the CPU inside of the graph, and back."""
# device: cuda
# logs: output_code

x = torch.randn(512, 512, device="cuda")


# before:
@torch.compile
def scores(x):
    y = (x @ x).relu()
    return y.cpu()


def step(number):
    return scores(x)


# after:
# @torch.compile
# def scores(x):
#     y = (x @ x).relu()
#     return y
#
#
# def step(number):
#     return scores(x).cpu()
# end
