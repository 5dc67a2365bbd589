"""A model whose tiles fit: nothing is to be said."""

import torch


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(256, 512)
        self.second = torch.nn.Linear(512, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


torch.manual_seed(0)
model = torch.compile(Model().eval(), backend="tiler")
with torch.no_grad():
    for _ in range(30):
        model(torch.ones(512, 256))
print("done")
