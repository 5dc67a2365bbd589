"""Generated code out of a log, as a program: only ever on the user's explicit word.

Code in a log is untrusted. Nothing here runs it; the driver does, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tracelens.live.micro import Program
from tracelens.report import Finding
from tracelens.source.files import Stream

__all__ = ["Module", "modules", "program"]

#: What stands before every line of generated code, and what begins a module.
_MARK, _FIRST = "[__output_code] ", "Output code:"
#: What makes a step of a generated module: its arguments, then its call.
_SETUP = """

def setup():
    if "get_args" in globals():
        arguments = get_args()
        return lambda: call(list(arguments))
    return lambda: benchmark_compiled_module(times=1, repeat=1)
"""


class Module(NamedTuple):
    """One generated module: its first and last line in the log, and its source."""

    first: int
    last: int
    source: str


def modules(lines: Iterable[str]) -> Iterator[Module]:
    """Yield the modules of generated code in a log."""
    first, last, source = 0, 0, list[str]()
    for number, line in enumerate(lines, start=1):
        _, mark, text = line.rstrip("\r\n").partition(_MARK)
        if not mark:
            continue
        if text.startswith(_FIRST):
            if source:
                yield Module(first, last, "\n".join(source))
            first, source = number, []
        else:
            source.append(text)
        last = number
    if source:
        yield Module(first, last, "\n".join(source))


def program(finding: Finding, log: Path) -> Program | None:
    """Return the generated module in ``log`` that a finding quotes; None where there is none."""
    places = [quote.line for quote in finding.evidence]
    for module in modules(_lines(log)):
        quoted = any(module.first <= place <= module.last for place in places)
        if quoted and "def call(" in module.source:
            return Program("code from the log", module.source + _SETUP)
    return None


def _lines(path: Path) -> Iterator[str]:
    stream = Stream(str(path))
    with stream.open() as reader:
        for block in stream.blocks(reader):
            for line in block:
                yield line[:-1].decode("utf-8", "replace")
