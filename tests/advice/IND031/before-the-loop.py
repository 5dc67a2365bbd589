"""A gated cell whose gates depend on the sequence alone."""
# logs: graph_code

import torch

torch.manual_seed(0)
layer = torch.nn.Linear(128, 128)
x = torch.randn(4, 16, 128)


@torch.compile
def recur(x):
    state, states = torch.zeros(4, 128), []
    # before:
    for t in range(16):
        y = layer(x[:, t])
        gate = torch.sigmoid(y)
        state = gate * state + (1 - gate) * x[:, t]
        states.append(state)
    # after:
    # every = layer(x)  # before the loop
    # for t in range(16):
    #     y = every[:, t]  # in it, for layer(x[:, t])
    #     gate = torch.sigmoid(y)
    #     state = gate * state + (1 - gate) * x[:, t]
    #     states.append(state)
    # end
    return torch.stack(states, 1)


def step(number):
    layer.zero_grad()
    result = recur(x)
    result.sum().backward()
    return torch.cat([result.detach().flatten(), layer.weight.grad.flatten()])
