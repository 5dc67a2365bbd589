"""Rules about one cause of failures: one finding per thing that has to be mended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.failures import Failure
from tracelens.failures.causes import GENERAL
from tracelens.remedies import Remedy
from tracelens.report import (
    Confidence,
    EvidenceLine,
    Finding,
    FindingData,
    Severity,
    Where,
    stories,
)
from tracelens.rules import Rule

__all__ = [
    "OWNERS",
    "FailureData",
    "FailureRule",
    "Traced",
    "direct_call",
    "gist",
    "in_backward",
    "stages_in_turn",
    "without_compiling",
    "words",
]

#: Characters of a message that a finding tells.
MAX_MESSAGE = 900
#: Characters of a quoted line.
MAX_QUOTED = 400
#: How the advice is known that names nothing else.
SOLVED = "reports of this failure and what its reporters say solved it; no test applies it"
UNTESTED = "a failure is mended outside of the program; whether it is shows in the next run"
STAGES = {
    "dynamo": "while Dynamo traced the program",
    "aot": "in AOTAutograd, which makes the forward and the backward graph",
    "inductor": "while Inductor lowered the graph",
    "triton": "while Triton compiled or loaded a kernel",
    "toolchain": "while a C or C++ compiler built what torch generated",
    "autotune": "while Inductor tried kernels",
    "backend": "in the backend that torch.compile was given",
    "runtime": "while compiled code ran",
    "collective": "while ranks waited for each other",
    "program": "in the program itself, outside of compiled code",
}
#: Whose a bug of a stage is.
OWNERS = {"aot": "AOTAutograd", "dynamo": "Dynamo", "inductor": "Inductor", "triton": "Triton"}
#: Causes that, once suppressed, say no more than that; of those in the log of ``suppress_errors``
#: the bugs of the compiler are told.
_UNTOLD = (GENERAL | {"fake-tensors", "fullgraph"}) - {"internal-dynamo", "internal-compiler"}
_VOLATILE = re.compile(r"(?:[A-Za-z]:)?[/\\][^\s'\":,]{3,}|0x[0-9a-f]+|\d+")


class Traced(FindingData):
    """A line that Dynamo traced."""

    file: str
    line: int
    function: str = ""
    code: str = ""


class FailureData(FindingData):
    """A failure, for programs that read findings."""

    cause: str
    stage: str
    exception: str = ""
    message: str = ""
    output: str = ""
    generated: str = ""
    #: Whether it is what ended the program, as far as the log shows: it is then told first.
    ended_program: bool = False
    suppressed: bool = False
    #: ``windows``, ``embedded`` (a program's own Python), ``macos``, ``conda`` or empty.
    platform: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    #: What was traced when it failed, the outermost line first.
    stack: tuple[Traced, ...] = ()
    facts: dict[str, str] = {}

    @property
    def is_cut(self) -> bool:
        """Whether the text ends before the error, which is known by what leads to it."""
        return "cut" in self.facts

    @property
    def is_apart(self) -> bool:
        """Whether no compiler, and nothing compiled, was at work in the traceback."""
        return self.stage == "program"

    @property
    def on_windows(self) -> bool:
        """Whether the text was written on Windows."""
        return self.platform in {"windows", "embedded"}

    @property
    def by_triton(self) -> bool:
        """Whether Triton called the compiler, not Inductor's C++."""
        text = f"{self.message} {self.output}"
        return "C compiler." in text or ".c" in text or "cuda" in text


class FailureRule(Rule):
    """Base of the rules that differ in which failures they are about, and in what they say."""

    #: As :data:`tracelens.failures.phrases.PHRASES` calls them.
    of_causes: ClassVar[frozenset[str]]
    #: Whether a program may provoke it, and catch it.
    may_be_meant: ClassVar[bool] = False
    severity = Severity.ERROR
    Data = FailureData
    unconfirmable = UNTESTED

    def __init_subclass__(cls) -> None:
        """Say of advice that names no source where it is from."""
        cls.remedies = tuple(r if r.proof else replace(r, proof=SOLVED) for r in cls.remedies)

    def check(self, failures: Table[Failure]) -> Iterator[Finding]:
        """Yield one finding per distinct failure of these causes."""
        groups: dict[tuple[str, ...], list[Seen[Failure]]] = {}
        for seen in failures:
            if self.wanted(seen.record):
                groups.setdefault(self.identity(seen.record), []).append(seen)
        for key, rows in groups.items():
            yield self._found(key, rows)

    def wanted(self, failure: Failure) -> bool:
        """Tell whether the rule is about this failure."""
        return failure.cause in self.of_causes and not _told_by_others(failure)

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Return what failures have in common that are mended together."""
        return (failure.cause,)

    def what(self, data: FailureData) -> str:
        """Say what failed and why, for the title."""
        raise NotImplementedError

    def why(self, data: FailureData) -> str:
        """Say what it means; empty where the title does."""
        del data
        return ""

    def grade(self, failure: Failure) -> Severity:
        """Grade it: an exception that the program caught, and went on, is no end."""
        caught = not failure.ended and not failure.suppressed
        if failure.fact("quoted"):
            return Severity.INFO
        return Severity.WARNING if caught and self.may_be_meant else self.severity

    def confidence(self, failure: Failure) -> Confidence:
        """Tell how sure the cause is."""
        return Confidence.MEDIUM if failure.fact("cut") else Confidence.HIGH

    def causes(self, finding: Finding) -> Iterable[stories.Story]:
        """Cause that the function is left out, where the error was suppressed."""
        data = self.data_of(finding)
        if isinstance(data, FailureData) and "frame" in data.facts:
            yield stories.left_out(data.facts["frame"], data.facts.get("frame_file", ""))

    def _found(self, key: tuple[str, ...], rows: list[Seen[Failure]]) -> Finding:
        seen = max(
            rows,
            key=lambda row: (row.record.ended, bool(row.record.file), bool(row.record.message)),
        )
        data = self.data(seen.record)
        return self.finding(
            *key,
            title=self.what(data),
            message=_told(data, self.why(data)),
            severity=self.grade(seen.record),
            confidence=self.confidence(seen.record),
            count=sum(row.count for row in rows),
            where=_where(seen.record),
            evidence=_quotes(seen),
            advice=self.advise(data),
            data=data,
        )

    def data(self, failure: Failure) -> FailureData:
        """Return what the finding holds of the failure."""
        return FailureData(
            cause=failure.cause,
            stage=failure.stage,
            exception=failure.exception,
            message=failure.message,
            output=failure.output,
            generated=failure.generated,
            ended_program=failure.ended,
            suppressed=failure.suppressed,
            platform=failure.platform,
            file=failure.file,
            line=failure.line,
            function=stories.as_written(failure.function),
            stack=tuple(
                Traced(file=one.file, line=one.line, function=one.function, code=one.code)
                for one in failure.stack
            ),
            facts=dict(failure.facts)
            | (
                {"resumed": "yes"}
                if stories.as_written(failure.function) != failure.function
                else {}
            ),
        )


def _told_by_others(failure: Failure) -> bool:
    """Tell whether it says no more than that an error was suppressed, which GBR013 does.

    That rule reads the line which names the function; without it nobody else tells the error.
    """
    return failure.suppressed and failure.cause in _UNTOLD and not failure.fact("headless")


def in_backward(data: FailureData) -> bool:
    """Tell whether the failure came in ``backward()``: the line is not that of the operator."""
    return "backward" in data.facts


def stages_in_turn(data: FailureData) -> str:
    """Return a line that compiles with ever more stages, until one fails as it did."""
    return (
        'for b in ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor"):'
        " torch._dynamo.reset(); "
        "torch.compile(model, backend=b)(*inputs)"
        + (".sum().backward()" if in_backward(data) else "")
    )


def gist(message: str) -> str:
    """Return what is the same in all sightings of one message."""
    return _VOLATILE.sub("#", message.partition("\n")[0])[:200]


def _told(data: FailureData, why: str) -> str:
    """Return the message: what it means, the exception in full, the stage, and the user's line."""
    name = data.exception.rpartition(".")[2]
    said = data.message if len(data.message) <= MAX_MESSAGE else data.message[:MAX_MESSAGE] + " ..."
    name += f" at `{data.facts['asserted']}`" if "asserted" in data.facts else ""
    said = f"{name}: {said}".rstrip(": ") if name and not said.startswith(name) else said
    parts = [why, _ended(said) if said.strip(": ") else ""]
    if data.output and data.output not in data.message:
        parts.append(_ended(f"The compiler said: {data.output[:MAX_QUOTED].rstrip()}"))
    if data.is_cut:
        parts.append(_cut(data))
    if "quoted" in data.facts:
        parts.append("The text speaks of this message; whether it came here, it does not tell.")
    elif "wheel" in data.facts:
        parts.append(f"It failed while pip built the package `{data.facts['wheel']}`.")
    elif "guard" in data.facts or "guard_on" in data.facts:
        on = f" on `{data.facts['guard_on']}`" if "guard_on" in data.facts else ""
        parts.append(f"It failed while Dynamo made a guard{on}{_guarded(data)}.")
    elif data.stage == "toolchain" and "direct" in data.facts:
        parts.append("It failed while a C compiler built what Triton generated.")
    elif data.stage == "triton" and "while importing libtriton" in data.message:
        parts.append("It failed while Triton was imported.")
    elif data.stage in STAGES and not data.facts.keys() & {"frameless", "no_wheel"}:
        kernel = data.facts.get("kernel", "")
        named = f", in a call of `{kernel}`, which Inductor generated" if kernel else ""
        theirs = data.is_apart and user_code.package(data.file)
        where = "outside of compiled code" if theirs else STAGES[data.stage]
        parts.append(f"It failed {where}{named}.")
    if data.suppressed:
        parts.append("The error was suppressed: the function runs eagerly.")
    if data.file:
        parts.append(f"The program was at {user_code.short(data.file, data.line)}{_from(data)}.")
    return " ".join(part for part in parts if part)


def _guarded(data: FailureData) -> str:
    """Say what the guard calls, or why torch cannot read what it is on."""
    if "guard" in data.facts:
        return f", which calls `{data.function}`"
    if word := data.facts.get("keyword"):
        return f": torch evaluates that name, in which `{word}` is a keyword of Python"
    return ""


def caller(data: FailureData) -> Traced | None:
    """Return the program's own line that leads into a package, where the error is in one."""
    if not user_code.package(data.file):
        return None
    own = [one for one in data.stack if "-packages/" not in one.file.replace("\\", "/")]
    near = [one for one in own if user_code.distance(one.file, one.function) == 0]
    return near[-1] if near else None


def direct_call(data: FailureData) -> Traced | None:
    """Return that line where it calls no module of the package that leads to the error."""
    line = caller(data)
    if line is None:
        return None
    after = data.stack[data.stack.index(line) + 1 :]
    return None if any(one.function == "forward" for one in after) else line


def _from(data: FailureData) -> str:
    if data.is_apart and "from_file" in data.facts:
        at = user_code.short(data.facts["from_file"], int(data.facts["from_line"]))
        return f", called from {at}"
    line = caller(data)
    return f", reached from {user_code.short(line.file, line.line)}" if line else ""


def _ended(said: str) -> str:
    """Return a sentence with its full stop."""
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _cut(data: FailureData) -> str:
    """Say that the error itself is not in the text."""
    name = data.facts["cut"]
    raises = f", which is a `{name.rpartition('.')[2]}`" if name != "yes" else ""
    return f"The text ends before the error itself{raises}: see its last lines."


def _where(failure: Failure) -> Where | None:
    if not failure.file:
        return None
    return Where(
        file=failure.file,
        line=failure.line or None,
        function=stories.as_written(failure.function) or None,
    )


def _quotes(seen: Seen[Failure]) -> list[EvidenceLine]:
    """Quote the line that says it, and the first one in which a compiler refuses something."""
    lines = seen.text.split("\n")
    wanted = [seen.record.at]
    if seen.record.output:
        wanted += [n for n, line in enumerate(lines) if seen.record.output in line][:1]
    found = []
    for at in dict.fromkeys(wanted):
        line = seen.quote(at=at)
        found.append(line.model_copy(update={"text": line.text.removeprefix("!")[:MAX_QUOTED]}))
    return found


def without_compiling() -> Remedy:
    """Return the advice that always works: leave compiling out."""
    return Remedy(
        "without-compiling",
        "To go on meanwhile, run without compiling; the program is then slower, and works.",
        env="TORCHDYNAMO_DISABLE=1",
        applies=lambda data: (
            not isinstance(data, FailureData) or data.facts.keys().isdisjoint({"wheel", "direct"})
        ),
        when="until it is mended, and no kernel is launched by the program itself",
        basis="source",
        proof="torch/_dynamo/config.py: disable",
    )


def words(data: FailureData) -> str:
    """Return what to search for: the exception and its message, without paths and numbers."""
    said = _VOLATILE.sub(" ", data.message.partition("\n")[0])
    return f'"{data.exception.rpartition(".")[2]} {" ".join(said.split()[:10])}"'
