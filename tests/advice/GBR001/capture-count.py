"""A package counts the molecules of a batch by the largest index, and adds up what belongs to each."""

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

class Atomwise(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.energies = torch.nn.Linear(8, 1)

    def forward(self, inputs):
        each = self.energies(inputs["atoms"])
        index = inputs["molecule"]
        count = int(index[-1]) + 1
        total = torch.zeros(count, 1).index_add_(0, index, each)
        return total.squeeze(-1)
""")
torch.manual_seed(0)
model = torch.compile(odd.Atomwise(), backend="aot_eager")
batches = [
    {"atoms": torch.randn(12, 8), "molecule": torch.arange(count).repeat_interleave(12 // count)}
    for count in (4, 3, 2, 6)
]
# before:
# after:
# torch._dynamo.config.capture_scalar_outputs = True
# end


def step(number):
    return model(batches[number % 4]).sum()
