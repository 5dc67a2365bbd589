"""A function of a library that calls a module branches on a value; it is all that is compiled."""

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
def repeated(net, x):
    for _ in range(2):
        x = net(x)
        if x.abs().max() > 1:
            x = x / x.abs().max()
    return x
""")
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())


def prepare(x):
    return odd.repeated(net, x)


# before:
run = torch.compile(prepare, backend="eager")
# after:
# net = torch.compile(net, backend="eager")
# run = prepare
# end
x = torch.randn(4, 8)


def step(number):
    return run(x)
