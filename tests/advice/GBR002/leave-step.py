"""A library's optimizer branches on a tensor's value in its step."""

import torch


def library(text, name="oddoptim"):
    """Install a package of one module, and import it."""
    import importlib
    import sys
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp()) / "site-packages"
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


odd = library("""
import torch

class Odd(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad.abs().max() > 1e-3:
                    p.sub_(p.grad, alpha=group["lr"])
""")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.layer(x))


model = Model()
optimizer = odd.Odd(model.parameters())
# before:
update = torch.compile(optimizer.step, backend="eager")
# after:
# model.compile(backend="eager")
# update = optimizer.step
# end
x = torch.randn(4, 8)


def step(number):
    loss = model(x).square().mean()
    loss.backward()
    update()
    return loss.detach()
