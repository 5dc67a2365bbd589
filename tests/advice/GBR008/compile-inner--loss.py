"""The loss of a library cuts rows out; the network that is compiled with it does not."""

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

def kept(logits, labels):
    return logits[labels != 255]

class Loss(torch.nn.Module):
    def forward(self, logits, labels):
        return kept(logits, labels).square().mean()
""")
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
loss = odd.Loss()


# before:
@torch.compile(backend="eager")
# after:
# net = torch.compile(net, backend="eager")
# end
def compute_loss(x, y):
    logits = net(x).squeeze(-1)
    return 0.5 * loss(logits, y)


labels = torch.tensor([0.0, 255.0, 1.0, 255.0])
x = torch.randn(4, 8)


def step(number):
    return compute_loss(x, labels)
