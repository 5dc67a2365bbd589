"""Compiling a function of `torch.jit.script` fails, which another package imports by name."""
# graphs: 0

import torch

torch._dynamo.config.suppress_errors = True


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


library(
    """
import torch

@torch.jit.script
def wave(x, n: int):
    return torch.zeros([n], dtype=x.dtype) + x.sum()
""",
    "oddscripts",
)
odd = library("""
import torch
from oddscripts import wave

class Model(torch.nn.Module):
    def forward(self, x, n):
        return wave(torch.relu(x), n) + 1
""")


# before:
# after:
# import importlib, inspect, sys
# part = importlib.import_module("oddscripts")
# for owner in [part, *filter(inspect.isclass, list(vars(part).values()))]:
#     found = vars(owner).get("wave")
#     held = getattr(found, "__func__", None)
#     plain = held or getattr(found, "_torchdynamo_inline", found)
#     code = inspect.unwrap(plain).__code__ if inspect.isfunction(plain) else None
#     if code and code.co_filename == part.__file__ and 6 in [n for *_, n in code.co_lines()]:
#         left = torch.compiler.disable(plain)
#         left = type(found)(left) if held else left
#         for one in [owner, *sys.modules.values()]:
#             if getattr(one, "__dict__", {}).get("wave") is found:
#                 setattr(one, "wave", left)
# end
model = torch.compile(odd.Model(), backend="aot_eager")
x, n = torch.rand(32), torch.tensor(4)


def step(number):
    return model(x, n)
