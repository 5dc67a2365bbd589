"""Compiling a helper fails, and the error is suppressed."""

import torch

torch._dynamo.config.suppress_errors = True


def broken(graph, inputs):
    if any("sin" in str(node.target) for node in graph.graph.nodes):
        raise RuntimeError("the backend cannot do this")
    return graph.forward


# before:
# after:
# @torch.compiler.disable
# end
def helper(x):
    return torch.sin(x)


@torch.compile(backend=broken)
def model(x):
    y = torch.relu(x)
    # before:
    # after:
    # end
    return helper(y) + 1


x = torch.rand(32)


def step(number):
    return model(x)
