"""A function of a library branches on a tensor's value; no module leads there."""

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
def limited(x):
    if x.abs().max() > 1:
        x = x / x.abs().max()
    return x
""")


# before:
@torch.compile(backend="eager")
def prepare(x):
    x = x * 2 + 1
    x = odd.limited(x)
    return x.sin() + x


# after:
# @torch.compile(backend="eager")
# def before(x):
#     return x * 2 + 1
#
#
# @torch.compile(backend="eager")
# def after(x):
#     return x.sin() + x
#
#
# def prepare(x):
#     return after(odd.limited(before(x)))
# end
x = torch.randn(4, 8)


def step(number):
    return prepare(x)
