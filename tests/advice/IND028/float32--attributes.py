"""Data of numpy, and a model that keeps its mean, of numpy too, as a plain attribute."""
# logs: graph_code
# adapted: the data and the model have lines of their own

import numpy as np
import torch

array = np.random.default_rng(0).standard_normal((1024, 256))


class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor(array.mean(0))
        # before:
        # after:
        # self.mean = self.mean.float()
        # end
        self.layer = torch.nn.Linear(256, 256).double()

    def forward(self, x):
        return self.layer(x - self.mean).relu()


torch.manual_seed(0)
model = Table()
# before:
x = torch.from_numpy(array)
# after:
# x = torch.from_numpy(array).float(); model = model.float()
# end
model = torch.compile(model)


def step(number):
    return model(x).square().mean()
