"""A library's model reads a number in its own `forward`, between its parts."""

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
        self.layers = torch.nn.ModuleList(Block() for _ in range(3))
        pairs = ([Block(), None], [Block(), Block()])
        self.pairs = torch.nn.ModuleList(torch.nn.ModuleList(pair) for pair in pairs)

    def forward(self, x):
        x = self.encoder(x)
        longest = int(x.detach().sum().item() * 0) + 8
        for layer in self.layers:
            x = layer(x)
        for first, second in self.pairs:
            x = first(x)
            if second is not None:
                x = second(x)
        return x[:, :longest]
""")
model = odd.Model()
# before:
run = torch.compile(model)
# after:
# model.encoder = torch.compile(model.encoder)
# for n, part in enumerate(model.layers):
#     if part is not None:
#         model.layers[n] = torch.compile(part)
# for layer in model.pairs:
#     for n, part in enumerate(layer):
#         if part is not None:
#             layer[n] = torch.compile(part)
# run = model
# end
x = torch.randn(4, 8)


def step(number):
    return run(x)
