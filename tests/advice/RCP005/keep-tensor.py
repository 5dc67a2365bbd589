"""A bound that an object keeps, which the program lowers between the calls."""
# logs: graph_code,recompiles

import torch


class Loss:
    def __init__(self):
        self.limit = 4.0

    def __call__(self, x):
        return (x * x).clamp(max=self.limit).mean()


loss = Loss()
weight = torch.ones(8, requires_grad=True)
compiled = torch.compile(lambda x: loss(x * weight), backend="aot_eager")


def step(number):
    limit = 4.0 - 0.25 * (number % 7)
    # before:
    # after:
    # limit = torch.tensor(limit)
    # end
    loss.limit = limit
    return compiled(torch.arange(8.0)).detach()
