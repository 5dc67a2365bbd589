"""A library keeps the ranges of channels as tensors of its modules, and slices with them."""

# logs: graph_breaks,guards
import torch


def library(text, name="oddlib"):
    """Install a package of two modules, and import it."""
    import importlib
    import sys
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp()) / "site-packages"
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("from oddlib.norm import GroupNorm\n")
    (folder / name / "norm.py").write_text(text)
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


odd = library("""
import torch


class GroupNorm(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        self.register_buffer("n_indices", torch.tensor(len(sizes)))
        end = 0
        for size in sizes:
            self.register_buffer(f"indices_{size}", torch.tensor([end, end + size]))
            end += size
        self.scale = torch.nn.Parameter(torch.rand(1, end, 1, 1))

    def forward(self, x):
        b, _, h, w = x.shape
        parts = []
        for size in self.sizes:
            indices = getattr(self, f"indices_{size}")
            parts.append(x[:, indices[0] : indices[1], :, :].view(b, -1, 2, h, w).relu())
        return torch.cat(parts, 1).flatten(1, 2) * self.scale
""")
torch.manual_seed(0)
layers = [torch.nn.Conv2d(3, 12, 3), odd.GroupNorm([4, 8]), torch.nn.Conv2d(12, 4, 3)]
model = torch.nn.Sequential(*layers)
# before:
# after:
# import torch
# for part in model.modules():
#     if type(part).__module__.partition(".")[0] != "oddlib":
#         continue
#     for name, held in [*part._buffers.items(), *vars(part).items()]:
#         is_row = isinstance(held, torch.Tensor) and held.dim() == 1
#         is_held = "indices" in name and (is_row or isinstance(held, list))
#         numbers = list(held[:5]) if is_held else []
#         if 0 < len(numbers) <= 4 and all(
#             isinstance(n, torch.Tensor) and n.dtype == torch.int64 and n.dim() == 0 for n in numbers
#         ):
#             delattr(part, name)
#             setattr(part, name, [int(n) for n in numbers])
# end
compiled = torch.compile(model)
x = torch.rand(2, 3, 16, 16)


def step(number):
    compiled.zero_grad()
    out = compiled(x)
    out.sum().backward()
    return out.detach()
