"""What a compiled function of an installed package calls: it may be compiled instead of that."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tracelens.dynamo.beside import called_by
from tracelens.dynamo.user_code import short
from tracelens.evidence import Place, Table
from tracelens.logs._stack import StackFrame
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.report.stories import as_written

__all__ = ["Apart", "elsewhere", "modules_of"]

#: Modules that are named.
MAX_NAMED = 4


class Apart(FindingData):
    """Modules that do not reach a line."""

    #: The class whose method holds the line: ``Encoder.forward``.
    of: str = ""
    #: What that calls: ``self.layers.0``.
    modules: tuple[str, ...] = ()
    #: Whether the log holds guards, which name modules.
    guarded: bool = True


def modules_of(
    compiled: StackFrame,
    line: StackFrame,
    places: Iterable[Place],
    trees: Table[GuardTree],
    *,
    source: str = "",
) -> Apart:
    """Return what a compiled function calls, where a line in that function itself is at fault.

    Which module leads to a line of another function is not known: nothing is named then. Methods of
    one name, as ``forward``, are often in one file.

    Args:
        compiled: The function, with the line at which it is defined.
        line: The line, with the function that holds it.
        places: Where the log has compilations of the function.
        trees: The guards of the log.
        source: What is guarded, as the compiled function reaches it.
    """
    if not len(trees):
        return Apart(guarded=False)
    name, file = as_written(compiled.function), compiled.file
    if name != as_written(line.function) or short(file) != short(line.file):
        return Apart()
    resumes = name != compiled.function  # what it is the rest of begins further up
    if (line.line < compiled.line and not resumes) or _is_of_part(source, line.code):
        return Apart()
    kind, modules = called_by(name, file, places, trees)
    return Apart(of=f"{kind.rpartition('.')[2]}.{name}" if modules else "", modules=modules)


#: What a part holds: ``self._modules['m']._modules['0'].add``.
_HELD = re.compile(r"self(?:\._modules\['\w{1,60}'\]){1,20}\.(\w{1,60})$")


def _is_of_part(source: str, code: str) -> bool:
    """Whether the line reads as its own what a part of the compiled module holds: ``self.add``."""
    held = _HELD.match(source)
    return held is not None and re.search(rf"\bself\.{held[1]}\b", code) is not None


def elsewhere(of: Any, *, when: str, proof: str, about: Any = None) -> tuple[Remedy, Remedy]:
    """Return what to compile in place of a package's function, and what is said where none is.

    Args:
        of: A predicate over the data, which has ``apart``, ``package``.
        when: The same in words.
        proof: The bench program.
        about: What to say before, as a function of the data.
    """

    def first(data: Any) -> str:
        return f"{told} " if about is not None and (told := about(data)) else ""

    return (
        Remedy(
            "compile-inner",
            lambda data: (
                f"{first(data)}The line is in `{data.apart.of}`, and what that calls does not "
                f"reach it: compile {_listed(data.apart.modules)} there, each by "
                "`torch.compile(part)`, instead of what calls them."
            ),
            when=f"{when}, and the guards name what the function calls",
            applies=lambda data: bool(of(data) and data.apart.modules),
            basis="tested",
            proof=proof,
        ),
        Remedy(
            "not-named",
            lambda data: f"{first(data)}No change is named: {_unknown(data)}",
            when=f"{when}, and nothing is known that its user could change",
            applies=lambda data: bool(of(data) and not data.apart.modules),
            env=lambda data: (
                None if data.apart.guarded else 'TORCH_LOGS="graph_breaks,recompiles,guards"'
            ),
            basis="untestable",
            proof="it says what is known, and asks for no change",
            says=True,
        ),
    )


def _unknown(data: Any) -> str:
    """Say what was looked at, or what to record so that there is more to look at."""
    at = f"the line is in {_whose(data)}"
    if data.apart.guarded:
        return f"{at}, and the guards do not tell which modules lead there."
    return (
        f"{at}, and this log holds no guards, which name modules that could be compiled without "
        "it. Record them as well."
    )


def _whose(data: Any) -> str:
    return f"`{data.package}`" if data.package else "an installed package"


def _listed(modules: tuple[str, ...]) -> str:
    names = [f"`{name}`" for name in modules[:MAX_NAMED]]
    more = f" and {len(modules) - MAX_NAMED} more" if len(modules) > MAX_NAMED else ""
    return " and ".join(names) if len(names) <= 2 and not more else ", ".join(names) + more
