"""A length in a dict of a program that compiles with dynamic=False."""

# logs: graph_breaks
import torch


def model(x, packed):
    return (x * packed["max_seqlen"]).sum()


# before:
compiled = torch.compile(model, dynamic=False)
# after:
# compiled = torch.compile(model, dynamic=True)
# end
x = torch.ones(4, 8)


def step(number):
    return [compiled(x, {"max_seqlen": length}) for length in range(20, 30)]
