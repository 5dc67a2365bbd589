"""Ten layers of different widths are compiled one by one, and share the code of `forward`."""

# logs: graph_breaks
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
        sizes = range(32, 32 * 13, 32)
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
x = torch.ones(2, 32)


def step(number):
    return model(x)
