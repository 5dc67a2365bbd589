"""Ten layers are unfrozen one after another."""

# logs: recompiles
import torch

torch.manual_seed(0)
layers = [torch.nn.Linear(16, 16) for _ in range(11)]
model = torch.nn.Sequential(*layers)
model[:10].requires_grad_(False)
compiled = torch.compile(model, backend="eager")
x = torch.ones(4, 16)
waiting = layers[:10]


def step(number):
    if number and waiting:
        waiting.pop().requires_grad_(True)
    loss = compiled(x).pow(2).mean()
    loss.backward()
    model.zero_grad()
    return loss
