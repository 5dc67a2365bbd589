"""What a model's compilation must be like, said in a test of the model, a notebook or a script.

::

    def test_model(compiles):
        with compiles(model, x) as c:
            c(other_x)
        c.breaks(0).recompiles(max=1).no("ONE001").fuses("linear+gelu")

Without pytest, ``from tracelens import compiles`` is the same.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import logging
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tracelens.live.notebook import InProcess, recording
from tracelens.live.recording import Artifacts
from tracelens.report import Finding, Report

__all__ = ["Compilation", "NotAsExpected", "compiles"]

#: Lines of a failure's message, and characters of each.
MAX_LINES, MAX_LINE = 36, 110
#: Findings, lines of evidence and of what to paste that a failure tells.
FINDINGS, EVIDENCE, PASTED = 3, 2, 4
#: How generated code calls an operator.
_NAMES = {
    "linear": ("linear", "addmm", "mm", "bmm", "packed_linear"),
    "matmul": ("mm", "bmm", "addmm", "matmul"),
    "conv": ("convolution",),
    "layernorm": ("native_layer_norm",),
}
_POINTWISE = re.compile(r"_(linear|convolution)_pointwise\S{0,80}\(")


class NotAsExpected(AssertionError):
    """A compilation is not what was asked for; the message says what to change."""


class Compilation:
    """A model that is compiled under observation; afterwards, what may be asked of it."""

    def __init__(self, model: Any, held: InProcess) -> None:
        self._model = model
        self._held = held

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Call the compiled model."""
        return self._model(*inputs, **named)

    @property
    def report(self) -> Report:
        """Everything that was found.

        Raises:
            UsageError: The ``with`` block has not ended yet.
        """
        return self._held.report

    def breaks(self, most: int = 0) -> Compilation:
        """Ask for at most so many graph breaks.

        Raises:
            NotAsExpected: There are more.
        """
        return self._at_most("graph_breaks", "graph breaks", most, ("GBR", "ERR"))

    def recompiles(self, max: int = 0) -> Compilation:  # noqa: A002 -- as it reads in a test
        """Ask for at most so many recompilations.

        Raises:
            NotAsExpected: There are more.
        """
        return self._at_most("recompiles", "recompilations", max, ("RCP",))

    def no(self, *rules: str) -> Compilation:
        """Ask that these rules find nothing: codes, prefixes or names.

        Raises:
            NotAsExpected: One of them has found something.
        """
        found = [f for f in self.report.shown if any(_is_of(f, rule) for rule in rules)]
        if found:
            self._fail(f"{len(found)} findings of {', '.join(rules)}, none expected", found)
        return self

    def fuses(self, *chains: str) -> Compilation:
        """Ask that operators run in one kernel: ``linear+gelu``, ``add+relu``.

        Raises:
            NotAsExpected: No kernel does all of it.
        """
        kernels = [str(row.get("fused", "")) for row in self.report.tables.get("kernels", ())]
        kernels += self._pointwise()
        for chain in chains:
            wanted = [_NAMES.get(name, (name,)) for name in chain.lower().split("+")]
            if not any(all(_in(names, kernel) for names in wanted) for kernel in kernels):
                unfused = [f for f in self.report.shown if f.code in {"IND001", "IND002", "IND018"}]
                there = ", ".join(kernels[:6]) or "none"
                self._fail(f"no kernel fuses {chain}; there is: {there}", unfused)
        return self

    def _pointwise(self) -> list[str]:
        """Return oneDNN's fused calls in generated code, as names of kernels."""
        log = self._held.folder / "log.txt.gz"
        out = []
        with gzip.open(log, "rt", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if match := _POINTWISE.search(line):
                    names = re.findall(r"'(\w+)'", line[match.end() :])
                    out.append("_".join((match[1], *names)))
        return out

    def _at_most(
        self, counter: str, name: str, most: int, families: tuple[str, ...]
    ) -> Compilation:
        from tracelens.report.compare.counters import counters  # noqa: PLC0415 -- after the block

        counted = {one.name: one.after for one in counters([self.report]) if one.of is None}
        value = counted.get(counter)
        if value is None:
            self._fail(f"nothing was recorded that tells the number of {name}", [])
        elif value > most:
            found = [f for f in self.report.shown if f.code.startswith(families)]
            self._fail(f"{value:g} {name}, at most {most} expected", found)
        return self

    def _fail(self, what: str, found: Sequence[Finding]) -> None:
        lines = [what, *(line for finding in found[:FINDINGS] for line in _told(finding))]
        more = len(found) - FINDINGS
        if more > 0:
            lines.append(f"and {more} more")
        if len(lines) > MAX_LINES:
            lines = [*lines[: MAX_LINES - 1], "..."]
        raise NotAsExpected("\n".join(_cut(line) for line in lines))


@contextlib.contextmanager
def compiles(
    model: Any,
    *inputs: Any,
    folder: str | Path | None = None,
    artifacts: Artifacts = "full",
    calls: int = 2,
    **settings: Any,
) -> Iterator[Compilation]:
    """Compile a model and call it, watched; afterwards ask what the compilation was like.

    Args:
        model: A module or a function; what is compiled already is taken as it is.
        inputs: What to call it with, at the beginning of the block; none = the block calls it.
        folder: Where the recording goes; left out, it is deleted at the end of the process.
        artifacts: ``full``, or ``lean``, which says nothing about fusion and costs less.
        calls: How often to call it: what is compiled anew in the second call shows.
        settings: For ``torch.compile``.

    Raises:
        UsageError: Another recording is going on in this process.
    """
    torch = importlib.import_module("torch")
    torch._dynamo.reset()
    where = Path(folder) if folder is not None else _temporary()
    with recording(where, artifacts=artifacts) as held, _quiet_logs():
        compiled = model if _is_compiled(model) else torch.compile(model, **settings)
        compilation = Compilation(compiled, held)
        for _ in range(calls if inputs else 0):
            compilation(*inputs)
        yield compilation


def _is_compiled(model: Any) -> bool:
    return hasattr(model, "_orig_mod") or hasattr(model, "_torchdynamo_orig_callable")


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _temporary() -> Path:
    """Return a folder that lives as long as the process: the report is read after the block."""
    _kept.append(tempfile.TemporaryDirectory(prefix="tracelens-"))
    return Path(_kept[-1].name) / "recording"


@contextlib.contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep the thousands of records out of what a test runner captures.

    Inside of the recording: to switch its logs on, torch sets up its loggers anew.
    """
    logger = logging.getLogger("torch")
    before = logger.propagate
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = before


def _is_of(finding: Finding, rule: str) -> bool:
    return finding.code.startswith(rule.upper()) or finding.name == rule


def _in(names: Sequence[str], kernel: str) -> bool:
    return any(re.search(rf"(?:^|_){re.escape(name)}(?:_|$)", kernel) for name in names)


def _told(finding: Finding) -> Iterator[str]:
    where = f" at {finding.where}" if finding.where else ""
    yield f"{finding.severity}[{finding.code}] {finding.title}{where}"
    for line in finding.evidence[:EVIDENCE]:
        yield f"  {line.line} | {' '.join(line.text.split())}"
    for item in finding.promising[:2]:
        yield f"  fix: {' '.join(item.text.split())}"
        pasted = item.setting or item.env or item.code or ""
        yield from (f"    {line}" for line in pasted.splitlines()[:PASTED])


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 3]}..."
