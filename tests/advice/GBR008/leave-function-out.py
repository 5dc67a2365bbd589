"""A package warps flows in NumPy, one by one, in a function that its network calls by name."""

import torch


def library(text, name="oddlib"):
    """Install a package of one module, and import it."""
    import importlib
    import sys
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp()) / "site-packages"
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("")
    (folder / name / "flows.py").write_text(text)
    sys.path.insert(0, str(folder))
    return importlib.import_module(f"{name}.flows")


odd = library("""
import numpy as np
import torch


def forward_one(flow):
    flow = flow.detach().cpu().numpy()
    x = flow[0].reshape(-1)
    y = flow[1].reshape(-1)
    valid = (x > -1) & (x < 1) & (y > -1)
    x = x[valid]
    y = y[valid]
    x = x[x > -0.9]
    y = y[y < 0.9]
    return torch.from_numpy(np.stack([flow[0] + x.mean(), flow[1] + y.mean()])).float()


def forward_all(flows):
    out = []
    for flow in flows:
        out.append(forward_one(flow))
    return torch.stack(out)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, flows):
        flows = forward_all(flows)
        return self.conv(flows).tanh()
""")
torch.manual_seed(0)
# before:
# after:
# import importlib
#
# module = importlib.import_module("oddlib.flows")
# module.forward_all = torch.compiler.disable(module.forward_all)
# end
model = torch.compile(odd.Network(), backend="eager")


def step(number):
    with torch.no_grad():
        return model(torch.randn(3, 2, 8, 8))
