"""An LSTM and what stands around it."""

import torch

model = torch.nn.ModuleDict(
    {
        "inner": torch.nn.LSTM(8, 8, batch_first=True),
        "head": torch.nn.Sequential(torch.nn.Linear(8, 4)),
    }
)


# before:
@torch.compile(backend="eager")
# after:
# model["head"] = torch.compile(model["head"], backend="eager")
# end
def forward(x):
    return model["head"](model["inner"](x)[0])


x = torch.randn(2, 5, 8)


def step(number):
    with torch.no_grad():
        return forward(x)
