"""A compiled model of a library makes an object that checks its tensors, and has two layers."""
# graphs: 0

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
import dataclasses
import torch


@dataclasses.dataclass
class Batch:
    x: torch.Tensor

    def __post_init__(self):
        if not torch.isfinite(self.x).all():
            raise ValueError("not finite")
        if self.x.abs().max() > 1e6:
            raise ValueError("too large")
        if self.x.abs().min() < 0:
            raise ValueError("too small")
        if self.x.numel() and self.x.sum() > 1e9:
            raise ValueError("too much")


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = Block(width)
        self.decoder = Block(width)

    def forward(self, x):
        batch = Batch(x)
        batch = Batch(self.decoder(self.encoder(batch.x)))
        return batch.x


def predict(model, x):
    return model.forward(x)
""")
model = odd.Model(8)
run = torch.compile(model, backend="aot_eager")
x = torch.randn(4, 8)


def step(number):
    return odd.predict(run, x)
