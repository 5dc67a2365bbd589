"""Hooks that collect what layers return."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.outputs = []
        self.first.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.outputs.append(output)

    def forward(self, x):
        return self.last(self.first(x))


model = Model().eval()
compiled = torch.compile(model, backend="eager")
x = torch.ones(2, 8)


def step(number):
    # before:
    return compiled(x)
    # after:
    # model.outputs.clear()
    # return compiled(x)
    # end
