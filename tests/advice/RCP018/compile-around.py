"""Each layer is compiled, and they share one code object."""

import torch


class Layer(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(inputs, outputs))

    def forward(self, x):
        return torch.relu(x @ self.weight)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        sizes = (4, 8, 16, 32, 64)
        self.layers = torch.nn.ModuleList(map(Layer, sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Model().requires_grad_(False)
# before:
for layer in model.layers:
    layer.compile(backend="eager")
# after:
# model = torch.compile(model, backend="eager")
# end
x = torch.ones(2, 4)


def step(number):
    return model(x)
