"""A library branches on a tensor two modules down; what else those call is compiled."""

import torch


def library(text, name="deeplib"):
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


deep = library("""
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x))

class Stem(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = Block()

    def forward(self, x):
        return self.second(self.first(x))

class Neck(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.linear(x)
        if not torch.isfinite(x).all():
            x = torch.nan_to_num(x)
        return x

class Body(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Stem()
        self.neck = Neck()

    def forward(self, x):
        x = self.stem(x)
        return self.neck(x)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
        self.head = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.body(x)
        return self.head(x)
""")
model = deep.Model()
# before:
model = torch.compile(model, backend="eager")
# after:
# model.body.stem = torch.compile(model.body.stem, backend="eager")
# end
x = torch.randn(4, 8)


def step(number):
    return model(x)
