"""Compile the parts of a module whose own ``forward`` breaks the graph."""

from __future__ import annotations

from tracelens.dynamo import user_code
from tracelens.experiment import Knob
from tracelens.remedies import Remedy
from tracelens.rules.gbr._break_data import BreakData

__all__ = ["COMPILE_CLASSES", "COMPILE_PARTS"]

#: Parts that are named.
MAX_PARTS = 8
INDENT = " " * 4


def _parts(data: object) -> tuple[str, ...]:
    return data.parts if isinstance(data, BreakData) and data.package else ()


def _text(data: object) -> str:
    at = user_code.short(data.file, data.line) if isinstance(data, BreakData) else ""
    return (
        f"{at} is reached from the `forward` of what is compiled, and no module leads there: "
        "compile the modules that it calls, and no longer `model` itself."
    )


def _code(data: object) -> str:
    """Return a statement for each part; ``layers.0`` stands for all that ``layers`` holds."""
    calls = [_statement(part.split(".")) for part in _parts(data)]
    return "\n".join(list(dict.fromkeys(calls))[:MAX_PARTS])


def _statement(names: list[str]) -> str:
    """Return what compiles a part; entries of a list, which may be None, by a loop over them.

    So ``layers.0.1`` is a list of lists, and ``layers.0.attn`` a member of each entry.
    """
    lines, owner, loops = [], "model", 0
    for name in names[:-1]:
        if name.isdecimal():
            held = "layer" if not loops else f"layer{loops + 1}"
            lines.append(f"{INDENT * loops}for {held} in {owner}:")
            owner, loops = held, loops + 1
        else:
            owner = f"{owner}.{name}"
    last = names[-1]
    if last.isdecimal():
        lines += [
            f"{INDENT * loops}for n, part in enumerate({owner}):",
            f"{INDENT * loops}    if part is not None:",
            f"{INDENT * loops}        {owner}[n] = torch.compile(part)",
        ]
    else:
        if loops:  # entries may be of several classes
            lines.append(f'{INDENT * loops}if hasattr({owner}, "{last}"):')
        inside = INDENT * (loops + 1 if loops else 0)
        lines.append(f"{inside}{owner}.{last} = torch.compile({owner}.{last})")
    return "\n".join(lines)


def _knob(data: object) -> Knob | None:
    if not isinstance(data, BreakData) or not data.file:
        return None
    return Knob(
        "modules that do not reach the line are compiled, and what calls them is not",
        call={"compile_inner": f"{data.file}:{data.line}"},
    )


COMPILE_PARTS = Remedy(
    "compile-called-parts",
    _text,
    when="the break is in an installed package, in the `forward` of what is compiled itself, and "
    "the guards name what that calls: half as many modules as lines that it breaks at, or fewer",
    applies=lambda data: bool(_parts(data)),
    code=_code,
    basis="tested",
    proof="tests/advice/GBR001/compile-called-parts.py",
    knob=_knob,
)


def _classes(data: object) -> tuple[str, ...]:
    return data.classes[:MAX_PARTS] if isinstance(data, BreakData) and data.package else ()


def _of_classes(data: object) -> str:
    at = user_code.short(data.file, data.line) if isinstance(data, BreakData) else ""
    return (
        f"{at} is in the `forward` of what is compiled, which runs eagerly; what it calls is "
        "traced without a break. Compile that, and no longer `model` itself."
    )


def _each(data: object) -> str:
    names = ", ".join(f'"{name}"' for name in _classes(data))
    return (
        "for name, part in list(model.named_modules()):\n"
        f"{INDENT}if name and type(part).__name__ in {{{names}}}:\n"
        f"{INDENT * 2}model.set_submodule(name, torch.compile(part))"
    )


COMPILE_CLASSES = Remedy(
    "compile-classes",
    _of_classes,
    when="the break is in an installed package and costs the `forward` of what is compiled, and "
    "the guards tell that all other functions are methods of modules without a break",
    applies=lambda data: bool(_classes(data)),
    code=_each,
    since="2.5",
    basis="tested",
    proof="tests/advice/GBR007/compile-classes.py",
)
