"""Generated code out of a log, as a program: only ever on the user's explicit word.

Code in a log is untrusted. Nothing here runs it; the driver does, in a process of its own.

It has been generated already, so a change can only be one of the environment that it runs in. What
of the environment was written into it is changed too: the number of OpenMP threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tracelens.experiment import Knob
from tracelens.live.matching import matching
from tracelens.live.micro import Pair, Program
from tracelens.report import Finding
from tracelens.source.files import Stream

__all__ = ["Module", "modules", "pair"]

#: What stands before every line of generated code, what begins a module, and what follows it.
_MARK, _FIRST, _WRITTEN = "[__output_code] ", "Output code:", "Output code written to:"
_THREADS = re.compile(r"(#pragma omp parallel\b.*\bnum_threads)\(\d+\)")
#: What makes a step of a generated module: its arguments, then its call. Where a run is recorded,
#: the code is part of the record, as it is when Inductor writes it.
_SETUP = """

def setup():
    import json
    import os
    import sys

    if json.loads(os.environ.get("TRACELENS_LIVE") or "{{}}").get("logs"):
        with open(__file__, encoding="utf-8") as file:
            code = file.read().partition("\\n\\ndef setup():")[0]
        for line in ["Output code: ", *code.split("\\n")]:
            print({prefix!r} + line, file=sys.stderr)
    if "get_args" in globals():
        arguments = get_args()
        return lambda: call(list(arguments))
    return lambda: benchmark_compiled_module(times=1, repeat=1)
"""


class Module(NamedTuple):
    """One generated module: its first and last line in the log, its source, what led its lines."""

    first: int
    last: int
    source: str
    prefix: str = _MARK


def modules(lines: Iterable[str]) -> Iterator[Module]:
    """Yield the modules of generated code in a log."""
    first, last, prefix, source = 0, 0, "", list[str]()
    for number, line in enumerate(lines, start=1):
        before, mark, text = line.rstrip("\r\n").partition(_MARK)
        if not mark or text.startswith(_WRITTEN):
            continue
        if text.startswith(_FIRST):
            if source:
                yield Module(first, last, "\n".join(source), prefix)
            first, prefix, source = number, before + mark, []
        else:
            source.append(text)
        last = number
    if source:
        yield Module(first, last, "\n".join(source), prefix)


def pair(finding: Finding, log: Path, knob: Knob) -> Pair | None:
    """Return the generated module in ``log`` that a finding quotes, under two environments.

    None where there is no such module, or where the change is one of how code is generated.
    """
    if knob.config or knob.compile or knob.layout or not knob.env:
        return None
    places = [quote.line for quote in finding.evidence]
    for module in modules(_lines(log)):
        quoted = any(module.first <= place <= module.last for place in places)
        if quoted and "def call(" in module.source:
            return Pair(
                _program(module, module.source),
                _program(module, _threaded(module.source, knob)),
                knob,
                lambda report: sum(found.count for found in matching(finding, report)),
                structure="stays",  # the code is what it is
            )
    return None


def _program(module: Module, source: str) -> Program:
    setup = _SETUP.format(prefix=module.prefix)
    return Program(f"code from line {module.first} of the log", source + setup)


def _threaded(source: str, knob: Knob) -> str:
    """Return the code as it is for the number of threads that the change sets, if it sets one."""
    number = knob.env.get("OMP_NUM_THREADS") or ""
    return _THREADS.sub(rf"\1({number})", source) if number.isdigit() else source


def _lines(path: Path) -> Iterator[str]:
    stream = Stream(str(path))
    with stream.open() as reader:
        for block in stream.blocks(reader):
            for line in block:
                yield line[:-1].decode("utf-8", "replace")
