"""A package asks for the gradient of an argument that the program passes again and again."""

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

class Energy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Linear(3, 8)

    def forward(self, inputs):
        inputs["positions"].requires_grad_()
        return self.weights(inputs["positions"]).square().sum()
""")
torch.manual_seed(0)
energy = torch.compile(odd.Energy(), backend="aot_eager")
inputs = {"positions": torch.randn(4, 3)}
# before:
# after:
# inputs["positions"].requires_grad_()
# end


def step(number):
    return energy(inputs)
