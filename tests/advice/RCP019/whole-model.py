"""Parts of a model are switched one by one."""

import torch

model = torch.nn.Sequential(*(torch.nn.Dropout(0.0) for _ in range(4)))
compiled = torch.compile(model, backend="eager")
x = torch.ones(8)


def step(number):
    # before:
    model.train()
    model[number % 4].eval()
    # after:
    # model.train(number % 4 != 0)
    # end
    return compiled(x)
