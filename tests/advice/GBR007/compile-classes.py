"""A library wraps a network: its `forward` enters a context manager that Dynamo does not know."""

import torch


def library(text, name="wraplib"):
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


wrap = library("""
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.power = 2

    def forward(self, x):
        return torch.relu(self.linear(x)) ** self.power

class Metric(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.scale = 3

    def forward(self, x):
        scale = self.scale
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
            return scale * self.net(x)
""")
model = wrap.Metric()
# before:
model = torch.compile(model)
# after:
# for name, part in list(model.named_modules()):
#     if name and type(part).__name__ in {"Net"}:
#         model.set_submodule(name, torch.compile(part))
# end
x = torch.randn(4, 8)


def step(number):
    return model(x)
