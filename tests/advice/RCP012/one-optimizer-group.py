"""Layers are unfrozen one after another."""
# logs: recompiles

import torch

torch.manual_seed(0)
body = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(3))
model = torch.nn.Sequential(*body)
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.SGD(body[2].parameters(), 0.01)
x = torch.ones(4, 16)
waiting = [body[0], body[1]]
# before:
body[:2].requires_grad_(False)
# after:
# end


def step(number):
    if number and waiting:
        layer = waiting.pop()
        # before:
        layer.requires_grad_(True)
        optimizer.add_param_group({"params": layer.parameters()})
        # after:
        # optimizer.add_param_group({'params': layer.parameters()})
        # end
    loss = compiled(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    model.zero_grad()
    return loss
