"""Compiling a function of a package fails, which its model imports by name."""
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

def wave(x):
    return torch.sin(x)
""",
    "oddwaves",
)
odd = library("""
import torch
from oddwaves import wave

class Model(torch.nn.Module):
    def forward(self, x):
        return wave(torch.relu(x)) + 1
""")


def broken(graph, inputs):
    if any("sin" in str(node.target) for node in graph.graph.nodes):
        raise RuntimeError("the backend cannot do this")
    return graph.forward


# before:
# after:
# import importlib, inspect, sys
# part = importlib.import_module("oddwaves")
# for owner in [part, *filter(inspect.isclass, list(vars(part).values()))]:
#     found = vars(owner).get("wave")
#     held = getattr(found, "__func__", None)
#     plain = held or getattr(found, "_torchdynamo_inline", found)
#     code = inspect.unwrap(plain).__code__ if inspect.isfunction(plain) else None
#     if code and code.co_filename == part.__file__ and 4 in [n for *_, n in code.co_lines()]:
#         left = torch.compiler.disable(plain)
#         left = type(found)(left) if held else left
#         for one in [owner, *sys.modules.values()]:
#             if getattr(one, "__dict__", {}).get("wave") is found:
#                 setattr(one, "wave", left)
# end
model = torch.compile(odd.Model(), backend=broken)
x = torch.rand(32)


def step(number):
    return model(x)
