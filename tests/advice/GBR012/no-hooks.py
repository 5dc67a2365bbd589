"""A module with a backward hook is compiled."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.layer(x)).sum()


torch.manual_seed(0)
model = Net()
COMPILED = True
# before:
model.layer.register_full_backward_hook(lambda module, inputs, outputs: None)
# after:
# if not COMPILED:
#     model.layer.register_full_backward_hook(lambda module, inputs, outputs: None)
# end
fast = torch.compile(model, backend="aot_eager")
x = torch.randn(4, 8)


def step(number):
    loss = fast(x)
    loss.backward()
    return loss.detach()
