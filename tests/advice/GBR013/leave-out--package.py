"""Compiling a method of a package fails, and the error is suppressed."""
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


odd = library("""
import torch

class Part(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return self.part(torch.relu(x)) + 1
""")


def broken(graph, inputs):
    if any("sin" in str(node.target) for node in graph.graph.nodes):
        raise RuntimeError("the backend cannot do this")
    return graph.forward


# before:
# after:
# import importlib, inspect, sys
# part = importlib.import_module("oddlib")
# for owner in [part, *filter(inspect.isclass, list(vars(part).values()))]:
#     found = vars(owner).get("forward")
#     held = getattr(found, "__func__", None)
#     plain = held or getattr(found, "_torchdynamo_inline", found)
#     code = inspect.unwrap(plain).__code__ if inspect.isfunction(plain) else None
#     if code and code.co_filename == part.__file__ and 13 in [n for *_, n in code.co_lines()]:
#         left = torch.compiler.disable(plain)
#         left = type(found)(left) if held else left
#         for one in [owner, *sys.modules.values()]:
#             if getattr(one, "__dict__", {}).get("forward") is found:
#                 setattr(one, "forward", left)
# end
model = torch.compile(odd.Model(), backend=broken)
x = torch.rand(32)


def step(number):
    return model(x)
