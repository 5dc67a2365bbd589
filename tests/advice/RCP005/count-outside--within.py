"""A layer counts a float in its own `forward`, and the compiled model calls the layer."""
# logs: graph_breaks,recompiles,guards,graph_code

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = 1.0

    def forward(self, x):
        x = torch.clamp(x / x.std(), -self.limit, self.limit)
        # before:
        if self.limit < 3.0:
            self.limit += 0.01 * x.shape[0]
        # after:
        # pass
        # end
        return x


layer = Layer()
# before:
# after:
# layer.limit = torch.tensor(layer.limit, dtype=torch.float64)
# end
parts = torch.nn.Sequential(torch.nn.Linear(8, 8), layer, torch.nn.Linear(8, 8))
model = torch.compile(parts, backend="aot_eager")
torch.manual_seed(0)
x = torch.randn(4, 8)


def step(number):
    with torch.no_grad():
        found = model(x)
    # before:
    # after:
    # if layer.limit < 3.0:
    #     layer.limit += 0.01 * x.shape[0]
    # end
    return found
