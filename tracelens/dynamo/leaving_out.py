"""How a function is left out of what is compiled: in the program's own code, and in a package."""

from __future__ import annotations

from tracelens.dynamo import user_code

__all__ = ["left_out"]

_DECORATED = "@torch.compiler.disable"
_FOUND = """import importlib, inspect, sys
part = importlib.import_module("{module}")
for owner in [part, *filter(inspect.isclass, list(vars(part).values()))]:
    found = vars(owner).get("{function}")
    held = getattr(found, "__func__", None)
    plain = held or getattr(found, "_torchdynamo_inline", found)
    code = inspect.unwrap(plain).__code__ if inspect.isfunction(plain) else None
    if code and code.co_filename == part.__file__ and {line} in [n for *_, n in code.co_lines()]:
        left = torch.compiler.disable(plain)
        left = type(found)(left) if held else left
        for one in [owner, *sys.modules.values()]:
            if getattr(one, "__dict__", {{}}).get("{function}") is found:
                setattr(one, "{function}", left)"""


def left_out(function: str, file: str, line: int) -> str | None:
    """Return code that leaves out the function which holds a line; None where none can.

    A function of the program's is decorated. In a package the log names its file, function and
    line, and not its class: the code looks for it, as nobody edits an installed file. Modules that
    have imported it by its name hold it, too. It may be a static or a class method, or a function
    of ``torch.jit.script``, whose Python Dynamo reads (``_torchdynamo_inline``).
    """
    if not user_code.package(file):
        return _DECORATED
    module = _module(file)
    if not module or not function.isidentifier():
        return None
    return _FOUND.format(module=module, function=function, line=line)


def _module(file: str) -> str:
    """Return the name that a file of a package is imported by; empty where it has none."""
    inside = file.replace("\\", "/").rpartition("-packages/")[2]
    stem, _, suffix = inside.rpartition(".")
    names = stem.removesuffix("/__init__").split("/")
    return ".".join(names) if suffix == "py" and all(map(str.isidentifier, names)) else ""
