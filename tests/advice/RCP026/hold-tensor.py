"""A hook that holds a number is added for each call, as in activation patching."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).eval()
compiled = torch.compile(model, backend="eager")
saved, x = torch.randn(4, 16, 8), torch.ones(4, 16, 8)


def patched(pos):
    # before:
    at = pos
    # after:
    # at = torch.tensor([pos])
    # end

    def hook(module, args, out):
        out = out.clone()
        out[:, at, :] = saved[:, at, :]
        return out

    handle = model[0].register_forward_hook(hook)
    result = compiled(x)
    handle.remove()
    return result


def step(number):
    return patched(number % 5 * 3)
