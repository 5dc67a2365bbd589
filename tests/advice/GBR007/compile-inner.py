"""A library enters a context manager around one of its modules."""

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

class Head(torch.nn.Module):
    def forward(self, x):
        with open("/dev/null"):
            return torch.relu(x)
""")
model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), odd.Head())
# before:
model.compile(backend="eager")
# after:
# model[0] = torch.compile(model[0], backend="eager")
# end
x = torch.randn(4, 8)


def step(number):
    return model(x)
