"""A model that reads many values of a configuration in each call."""
# logs: guards

import torch

x = torch.randn(2, 8)


class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.total = sum(part["scale"] for part in config.values())

    def forward(self, x):
        # before:
        for name in self.config:
            x = x + self.config[name]["scale"]
        return x
        # after:
        # return x + self.total
        # end


config = {f"part{n}": {"scale": 0.25 + n, "names": ["a"]} for n in range(2500)}
model = torch.compile(Model(config), backend="eager")
STEPS = 3


def step(number):
    return model(x)
