"""A library keeps a NumPy number in an attribute of its modules; Dynamo takes it for a tensor."""

# logs: graph_breaks,guards
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
import math

import numpy as np
import torch
import torch.nn.functional as F


class Codec(torch.nn.Module):
    def __init__(self, rates=(2, 4)):
        super().__init__()
        self.hop_length = np.prod(rates)
        self.conv = torch.nn.Conv1d(1, 4, 8)

    def pad(self, x):
        length = x.shape[-1]
        padded = math.ceil(length / self.hop_length) * self.hop_length
        return F.pad(x, (0, padded - length))

    def forward(self, x):
        return self.conv(self.pad(x)).relu()
""")
model = odd.Codec()
# before:
# after:
# import numpy
# for part in model.modules():
#     for name, value in list(vars(part).items()):
#         if isinstance(value, numpy.generic):
#             setattr(part, name, value.item())
# end
compiled = torch.compile(model, backend="eager")
x = torch.rand(1, 1, 101)


def step(number):
    with torch.no_grad():
        return compiled(x)
