"""A library gives an operator tensors of its modules where that takes numbers."""

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
from torch.nn import functional


class Block(torch.nn.Module):
    def __init__(self, strides):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(8, 8, 3))
        self.strides = list(torch.tensor(strides))

    def forward(self, x):
        return functional.conv1d(x, self.weight, stride=(self.strides[0],), padding=1).relu()


class Stage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block([2, 1]), Block([1, 2])])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x * 2
""")
torch.manual_seed(0)
model = odd.Stage()
# before:
# after:
# import torch
# for part in model.modules():
#     if type(part).__module__.partition(".")[0] != "oddlib":
#         continue
#     for name, held in [*part._buffers.items(), *vars(part).items()]:
#         is_row = isinstance(held, torch.Tensor) and held.dim() == 1
#         is_held = "strides" in name and (is_row or isinstance(held, list))
#         numbers = list(held[:5]) if is_held else []
#         if 0 < len(numbers) <= 4 and all(
#             isinstance(n, torch.Tensor) and n.dtype == torch.int64 and n.dim() == 0 for n in numbers
#         ):
#             delattr(part, name)
#             setattr(part, name, [int(n) for n in numbers])
# end
compiled = torch.compile(model)
x = torch.rand(2, 8, 64)


def step(number):
    return compiled(x)
