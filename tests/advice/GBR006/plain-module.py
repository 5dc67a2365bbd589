"""A module that was scripted before the model around it was compiled."""

import torch

torch.manual_seed(0)
x = torch.randn(4, 8)
head = torch.nn.Linear(8, 8)
# before:
head = torch.jit.script(head)
# after:
# end


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x.relu()).relu()


model = torch.compile(Model().eval())


def step(number):
    with torch.no_grad():
        return model(x)
