"""A function of a library branches on a tensor's value, and its call is all that is compiled."""

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


def prepare(x):
    return odd.limited(x)


# before:
run = torch.compile(prepare, backend="eager")
# after:
# run = prepare
# end
x = torch.randn(4, 8)


def step(number):
    return run(x)
