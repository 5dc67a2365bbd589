"""A layer of a package counts a float in its own `forward`, and asks how large it is."""
# logs: graph_breaks,recompiles,guards,graph_code

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

class Renorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = 1.0

    def forward(self, x):
        x = torch.clamp(x / x.std(), -self.limit, self.limit)
        if self.limit < 3.0:
            self.limit += 0.01 * x.shape[0]
        return x
""")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.norm = odd.Renorm()
        self.last = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


# before:
# after:
# import importlib, inspect, sys
# part = importlib.import_module("oddlib")
# for owner in [part, *filter(inspect.isclass, list(vars(part).values()))]:
#     found = vars(owner).get("forward")
#     held = getattr(found, "__func__", None)
#     plain = held or getattr(found, "_torchdynamo_inline", found)
#     code = inspect.unwrap(plain).__code__ if inspect.isfunction(plain) else None
#     if code and code.co_filename == part.__file__ and 12 in [n for *_, n in code.co_lines()]:
#         left = torch.compiler.disable(plain)
#         left = type(found)(left) if held else left
#         for one in [owner, *sys.modules.values()]:
#             if getattr(one, "__dict__", {}).get("forward") is found:
#                 setattr(one, "forward", left)
# end
model = torch.compile(Model(), backend="aot_eager")
torch.manual_seed(0)
x = torch.randn(4, 8)


def step(number):
    with torch.no_grad():
        return model(x)
