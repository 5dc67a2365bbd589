"""An optimizer of one's own compiles the update of each parameter, whose shapes are ten."""

# logs: graph_breaks
import torch


@torch.compile(backend="eager", dynamic=False)
def update_(params, grads):
    for param, grad in zip(params, grads, strict=True):
        param.data.add_(grad, alpha=-0.1)


def step(number):
    params = [torch.nn.Parameter(torch.ones(size)) for size in range(20, 30)]
    for param in params:
        update_([param], [torch.ones_like(param)])
    return [param.detach() for param in params]
