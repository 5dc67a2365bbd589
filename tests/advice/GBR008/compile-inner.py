"""A library picks rows in a part that another method leads to; the guards name the blocks."""

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

class Spin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, spin):
        found = spin[:, None] * self.weight
        found[torch.where(spin == 0)[0]] = 0.0
        return found

class Charge(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, charge):
        return charge[:, None] * self.weight

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x, embedded):
        return torch.relu(self.linear(x)) + embedded

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.charge = Charge()
        self.spin = Spin()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

    def embedding(self, charge, spin):
        charge = self.charge(charge)
        return charge + self.spin(spin)

    def forward(self, x, charge, spin):
        embedded = self.embedding(charge, spin)
        print(end="")
        for block in self.blocks:
            x = block(x, embedded)
        return x
""")
model = odd.Model()
# before:
model.compile(backend="eager")
# after:
# for n in range(2):
#     model.blocks[n] = torch.compile(model.blocks[n], backend="eager")
# model.charge = torch.compile(model.charge, backend="eager")
# end
x = torch.randn(4, 8)
charge, spin = torch.tensor([0.0, 1.0, 2.0, 0.0]), torch.tensor([1.0, 0.0, 0.0, 2.0])


def step(number):
    with torch.no_grad():
        return model(x, charge, spin)
