"""A package calls a module of TorchScript that it has loaded from a file."""

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
import io
import torch

saved = io.BytesIO()
torch.manual_seed(0)
torch.jit.save(torch.jit.script(torch.nn.Linear(8, 8)), saved)
saved.seek(0)
model = torch.jit.load(saved)

class Finder:
    @torch.no_grad()
    def __call__(self, x):
        found = model(x).mean().item()
        if found > 100:
            return None
        return found

find = Finder()
""")


# before:
@torch.compile(backend="aot_eager")
def detect(x):
    x = (x * 2).clamp(-1, 1)
    return odd.find(x), x.mean()


# after:
# @torch.compile(backend="aot_eager")
# def prepare(x):
#     x = (x * 2).clamp(-1, 1)
#     return x, x.mean()
#
#
# def detect(x):
#     x, mean = prepare(x)
#     return odd.find(x), mean
# end
x = torch.randn(4, 8)


def step(number):
    return detect(x)
