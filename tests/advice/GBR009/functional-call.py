"""A module is copied within the compiled function, and the copy's parameters are changed."""

import copy

import torch

torch.manual_seed(0)
net = torch.nn.Linear(8, 8)


@torch.compile(backend="eager")
def looked_ahead(x):
    # before:
    fast = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in fast.parameters():
            parameter.mul_(0.5)
    return fast(x)
    # after:
    # params = dict(net.named_parameters())
    # params = {name: 0.5 * parameter for name, parameter in params.items()}
    # y = torch.func.functional_call(net, params, (x,))
    # return y
    # end


x = torch.ones(4, 8)


def step(number):
    with torch.no_grad():
        return looked_ahead(x)
