"""A drop rate that grows in each epoch: one line branches on it, another hands it to an operator."""

# results: differ  the masks are random

import torch


class DropPath(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # before:
        self.rate = 0.0
        # after:
        # self.register_buffer("rate", torch.tensor(0.0))
        # self.is_on = True
        # end

    def forward(self, x):
        # before:
        if self.rate == 0.0:
            return x
        # after:
        # if not self.is_on:
        #     return x
        # end
        keep = 1 - self.rate
        return x * x.new_empty(x.shape[0], 1).bernoulli_(keep) / keep


drop = DropPath()
model = torch.compile(drop, backend="eager")
x = torch.ones(8, 4)


def step(number):
    # before:
    drop.rate = 0.05 * (number + 1)
    # after:
    # drop.rate.fill_(0.05 * (number + 1))
    # end
    return model(x)
