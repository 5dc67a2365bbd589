"""A model that grows: layers are added to it while it runs."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList()

    def forward(self, x):
        for block in self.blocks:
            x = torch.relu(block(x))
        return x


torch.manual_seed(0)
model = Model().requires_grad_(False)
# before:
compiled = torch.compile(model, backend="aot_eager")
# after:
# compiled = model
# end


def step(number):
    torch.manual_seed(number)
    block = torch.nn.Linear(8, 8).requires_grad_(False)
    # before:
    # after:
    # block = torch.compile(block, backend="aot_eager")
    # end
    model.blocks.append(block)
    return compiled(torch.ones(4, 8))
