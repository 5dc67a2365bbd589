"""A library's model reads numbers in its own `forward`, between its parts."""

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
        return x + torch.relu(self.linear(x))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Block()
        self.layers = torch.nn.ModuleList([Block(), None])

    def forward(self, x):
        longest = int(x.detach().sum().item() * 0) + 8
        x = self.encoder(x + 1)
        longest += int(x.detach().mean().item() * 0)
        for layer in self.layers:
            if layer is not None:
                x = layer(x * 2)
        longest += int(x.detach().max().item() * 0)
        x = x.relu()
        return x[:, : longest + int(x.detach().min().item() * 0)]
""")
model = odd.Model()
# before:
run = torch.compile(model)
# after:
# model.encoder = torch.compile(model.encoder)
# for n, part in enumerate(model.layers):
#     if part is not None:
#         model.layers[n] = torch.compile(part)
# run = model
# end
x = torch.randn(4, 8)


def step(number):
    return run(x)
