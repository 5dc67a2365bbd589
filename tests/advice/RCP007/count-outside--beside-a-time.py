"""A field counts its calls, and an operation takes the time as a number."""
# logs: graph_breaks,recompiles,guards,graph_code

import torch


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, t, y):
        # before:
        self.calls += 1
        times = torch.full_like(y[:, :1], t)
        # after:
        # times = torch.ones_like(y[:, :1]) * t
        # end
        return torch.tanh(self.linear(torch.cat([y, times], 1)))


torch.manual_seed(0)
field = Field().eval()
compiled = torch.compile(field, backend="aot_eager")
y = torch.randn(4, 2)


def step(number):
    # before:
    # after:
    # field.calls += 1
    # end
    return compiled(0.1 * (number // 2), y)
