"""Sequences of three lengths in one nested tensor, padded within the model."""

# adapted: the sequences have a name of their own

import torch

rows = [torch.ones(n, 8) for n in (2, 5, 3)]
# before:
nested = torch.nested.nested_tensor(rows)
# after:
# nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
# end


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)

    def forward(self, nested):
        return torch.relu(self.first(nested)).to_padded_tensor(0.0).sum(1)


torch.manual_seed(0)
model = torch.compile(Model().eval())


def step(number):
    with torch.no_grad():
        return model(nested)
