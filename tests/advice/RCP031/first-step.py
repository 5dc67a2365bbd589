"""A step that is compiled clears gradients, and the first one finds none."""

import torch


class Task(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def loss(self, x):
        self.zero_grad()
        return self.layer(x).square().mean()


torch.manual_seed(0)
task = Task()
x = torch.randn(4, 8)
# before:
# after:
# task.loss(x).backward()
# end
loss = torch.compile(task.loss, backend="aot_eager")


def step(number):
    result = loss(x)
    result.backward()
    return result.detach()
