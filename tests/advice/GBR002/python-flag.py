"""Layers that the first batch initializes, as a buffer tells."""

import torch


class ActNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(8))
        # before:
        self.register_buffer("initialized", torch.tensor(False))
        # after:
        # self.initialized = False
        # end

    def forward(self, x):
        if self.training and not self.initialized:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
            # before:
            self.initialized.fill_(True)
            # after:
            # self.initialized = True
            # end
        return torch.tanh(x + self.shift)


torch.manual_seed(0)
plain = torch.nn.Sequential(ActNorm(), ActNorm())
x = torch.randn(4, 8)
# after:
# plain(x)
# end
model = torch.compile(plain, backend="aot_eager")


def step(number):
    plain.zero_grad()
    model(x).sum().backward()
    return plain[0].shift.grad.clone()
