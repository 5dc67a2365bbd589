"""A recurrence whose states go through one layer each, and are stacked."""
# logs: graph_code

import torch

torch.manual_seed(0)
layer = torch.nn.Linear(128, 128)
x = torch.randn(4, 16, 128)


@torch.compile
def recur(x):
    state, results, inputs = torch.zeros(4, 128), [], []
    # before:
    for t in range(16):
        state = torch.tanh(state + x[:, t])
        results.append(layer(state))
    y = torch.stack(results, dim=1)
    # after:
    # for t in range(16):
    #     state = torch.tanh(state + x[:, t])
    #     inputs.append(state)
    # y = layer(torch.stack(inputs, dim=1))
    # end
    return y


def step(number):
    layer.zero_grad()
    result = recur(x)
    result.sum().backward()
    return torch.cat([result.detach().flatten(), layer.weight.grad.flatten()])
