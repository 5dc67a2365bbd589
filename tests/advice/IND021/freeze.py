"""A layer whose 8-bit weights are made float32 before each product."""
# logs: output_code,graph_code

import torch


class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-100, 100, (512, 512), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(512, 1))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight * self.scale).relu()


torch.manual_seed(0)
model = torch.compile(torch.nn.Sequential(Packed(), Packed()).eval())
x = torch.randn(16, 512)


def step(number):
    with torch.no_grad():
        return model(x)
