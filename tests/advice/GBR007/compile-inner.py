"""A library enters a context manager in one of its modules; the guards name the one beside it."""

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

class Head(torch.nn.Module):
    def forward(self, x):
        with open("/dev/null"):
            return torch.relu(x)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Block()
        self.head = Head()

    def forward(self, x):
        x = self.encoder(x)
        return self.head(x)
""")
model = odd.Model()
# before:
model.compile(backend="eager")
# after:
# model.encoder = torch.compile(model.encoder, backend="eager")
# end
x = torch.randn(4, 8)


def step(number):
    return model(x)
