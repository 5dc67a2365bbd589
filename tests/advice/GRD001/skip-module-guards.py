"""A deep model of small modules: checking them takes longer than a millisecond."""
# logs: guards
# adapted: the backend is eager

import torch

torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)

    def forward(self, x):
        return x + self.linear(self.norm(x))


model = torch.nn.Sequential(*(Block() for _ in range(200)))
x = torch.randn(2, 8)
# before:
model = torch.compile(model, backend="eager")
# after:
# skip = torch.compiler.skip_guard_on_all_nn_modules_unsafe
# model = torch.compile(model, backend="eager", options={"guard_filter_fn": skip})
# end
STEPS = 3


def step(number):
    with torch.no_grad():
        return model(x)
