"""A library's model keeps what it has seen in a list, which its own `forward` reads."""

import torch


def library(text, name="oddlib"):
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

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Block()
        self.seen = []

    def forward(self, x):
        y = self.encoder(x)
        if len(self.seen) > 100:
            y = y + 1
        return y + len(self.seen)

    def keep(self, y):
        self.seen.append(y.detach())
""")
model = odd.Model()
# before:
call = torch.compile(model, backend="eager")
# after:
# model.encoder = torch.compile(model.encoder, backend="eager")
# call = model
# end
x = torch.randn(4, 8)


def step(number):
    y = call(x)
    model.keep(y)
    return y
