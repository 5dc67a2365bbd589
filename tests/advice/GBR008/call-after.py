"""The loss of a detector, whose images have as many boxes as they have, at the end of its forward."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 4)

    def forward(self, x, targets=None):
        y = self.body(x)
        if targets is None:
            return y.sigmoid()
        # before:
        return self.loss(y, targets)
        # after:
        # return y
        # end

    def loss(self, y, targets):
        total = 0.0
        for i, boxes in enumerate(targets):
            d = (y[i][:, None] - boxes[None]).abs().sum(-1).min(1).values
            near = torch.nonzero(d < 6.0).squeeze(1)
            if near.numel() > 0:
                total = total + d[near].mean()
        return total


torch.manual_seed(0)
model = Net()
net = torch.compile(model, backend="eager")
images = torch.randn(3, 10, 8)
targets = [torch.rand(n, 4) for n in (2, 5, 3)]


def step(number):
    # before:
    return net(images, targets)
    # after:
    # return model.loss(net(images, True), targets)
    # end
