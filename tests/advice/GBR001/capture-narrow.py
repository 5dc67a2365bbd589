"""The rows of a batch that count are cut out in front of the loss, and a gradient goes back."""
# logs: graph_breaks,recompiles,guards,graph_code

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16))
x = torch.randn(64, 16)


# before:
# after:
# torch._dynamo.config.capture_scalar_outputs = True
# end
@torch.compile
def loss_of(x, mask):
    n = mask.sum().item()
    y = net(x)
    # before:
    y = y[:n]
    # after:
    # y = y.narrow(0, 0, n)  # y[:n]: the dimension, where it starts, and how many
    # end
    return y.square().mean()


def step(number):
    mask = torch.arange(64) < 40 + number % 7
    loss = loss_of(x, mask)
    loss.backward()
    return loss.detach()
