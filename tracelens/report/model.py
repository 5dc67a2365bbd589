"""The report: the second waist of the design, and the JSON contract (schema version 1).

Everything a renderer, a CI job or a later run of tracelens knows about an analysis is in a
:class:`Report`. Internal models never appear here. Changes within a schema version only add.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from tracelens.experiment import Knob
from tracelens.late import late
from tracelens.report import notebook
from tracelens.report.base import Cost, Model
from tracelens.report.live import Confirmation
from tracelens.report.order import order


class Severity(StrEnum):
    """How bad it is. ``none`` means seen and harmless, or expected."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NONE = "none"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class Confidence(StrEnum):
    """How sure the rule is, from the log alone."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Outcome(StrEnum):
    """What became of one rule."""

    FIRED = "fired"
    QUIET = "quiet"
    ABSENT = "absent"
    CRASHED = "crashed"
    IGNORED = "ignored"


class Tool(Model):
    """Who wrote the report."""

    name: str = "tracelens"
    version: str


class Input(Model):
    """One input file, or one stream."""

    path: str
    kinds: dict[str, int] = Field(description="records per log kind, named as the grammars are")
    bytes: int
    lines: int
    events: int = 0
    sha256: str
    truncated: bool = False
    writers: tuple[str, ...] = ()


class Environment(Model):
    """What the logs say about the machine and the software; null where they say nothing."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")

    torch: str | None = None
    onednn: str | None = None
    isa: str | None = None
    cpu: str | None = None
    threads: int | None = None
    device: str | None = None


class Run(Model):
    """The inputs of one process, or of one job: rules see one run at a time."""

    name: str = Field(description="``run1``, or the name given with ``--run NAME=PATH``")
    inputs: tuple[str, ...] = Field(description="paths, as in ``inputs``")
    ranks: tuple[str, ...] = Field(default=(), description="ranks or processes that wrote them")
    watched: tuple[str, ...] = Field(
        default=(), description="log kinds and artifacts whose absence means: it did not happen"
    )
    ended: Literal["ok", "error", "unknown"] = "unknown"
    environment: Environment | None = Field(
        default=None, description="what this run says of the machine, where there are several runs"
    )


class KnownSite(Model):
    """A place in torch or oneDNN that wrote lines which no grammar reads yet."""

    site: str
    count: int
    first_line: int
    text: str = Field(default="", description="the beginning of the first one")


class UnreadText(Model):
    """A text that its grammar refused."""

    kind: str
    text: str
    count: int
    first_line: int
    reason: str


class Coverage(Model):
    """How much of the input was understood. Lines of text and events of traces, side by side."""

    lines: int
    understood_lines: int
    known_lines: int
    program_lines: int
    unread_lines: int
    share: float = Field(description="understood / (understood + known + unread); 1 when all are 0")
    events: int | None = None
    understood_events: int | None = None
    known: tuple[KnownSite, ...] = ()
    unread: tuple[UnreadText, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="limits that were reached")


class Verdict(Model):
    """What one rule said about this input."""

    code: str
    name: str
    verdict: Outcome
    needs: tuple[str, ...] = Field(default=(), description="switches that would show the evidence")
    reason: str = ""
    absent_in: tuple[str, ...] = Field(
        default=(), description="runs that do not hold the evidence, where there are several runs"
    )


class Where(Model):
    """The innermost code that the user can change."""

    file: str
    line: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} in {self.function}" if self.function else place


class EvidenceLine(Model):
    """One line of the input that supports a finding."""

    input: str
    line: int
    text: str
    note: str = ""


#: So many tries say something; the outcome of one may be chance.
FEW_TRIES = 2


class Advice(Model):
    """One thing to do, with what can be pasted and the versions where it holds.

    ``setting`` (Python) and ``env`` are two ways to do the same; ``code`` is a snippet. A bare
    number in ``since`` and ``until`` is a version of torch; other software is named.
    """

    id: str = Field(default="", description="within its rule: ``freeze``, ``mark-dynamic``")
    text: str
    setting: str | None = None
    env: str | None = None
    code: str | None = None
    since: str | None = None
    until: str | None = None
    basis: Literal["tested", "source", "untestable"] | None = Field(
        default=None, description="how it is known that it works"
    )
    proof: str = Field(
        default="", description="the test, the thread or document, or why it cannot be tested here"
    )
    knob: Knob | None = Field(
        default=None, description="the same as a change from outside, which live mode can try"
    )
    worked: int = Field(
        default=0, description="programs of others in which it helped, followed literally"
    )
    tried: int = Field(default=0, description="programs in which it was followed")
    label: Literal["fix", "try"] = Field(
        default="fix", description="`try` where what was followed elsewhere promises too little"
    )

    @property
    def is_pasted(self) -> bool:
        """Whether there is something to paste; else it is for whoever can change the code."""
        return bool(self.setting or self.env or self.code)

    def as_first(self) -> Advice:
        """Return it as it stands first: "Or ..." is an alternative to the one before it."""
        rest = self.text.removeprefix("Or ").removeprefix("Or, ")
        if rest == self.text:
            return self
        return self.model_copy(update={"text": rest[0].upper() + rest[1:]})

    @property
    def is_unlikely(self) -> bool:
        """Whether it was followed in two programs or more, and helped in fewer than half."""
        return self.tried >= FEW_TRIES and 2 * self.worked < self.tried


class FindingData(Model):
    """Base of a rule's ``Data``: what live mode, comparison and baselines need of a finding.

    Numbers are plain and unrounded, with units in their names; nothing in it is prose.
    """


#: What JSON leaves as it is and a terminal obeys; these stand in strings alone.
_CONTROL = late("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
#: Where a sentence ends and another one begins: not within ``torch.compile``.
_SENTENCE_END = late(r"(?<=[.!?]) (?=[A-Z`\"'(0-9])")


class Finding(Model):
    """One cause, seen in one place, however many lines it left in the log."""

    id: str
    code: str
    name: str
    severity: Severity
    confidence: Confidence = Confidence.HIGH
    title: str
    message: str
    count: int = Field(default=1, description="how often the input shows it")
    where: Where | None = None
    evidence: tuple[EvidenceLine, ...] = ()
    cost: Cost | None = None
    advice: tuple[Advice, ...] = ()
    suppressed_by: str | None = None
    ignored: str | None = None
    harmless: str | None = Field(
        default=None, description="why there is nothing to do, where the severity is ``none``"
    )
    run: str = Field(default="run1", description="key into ``runs``")
    explained_by: str | None = Field(
        default=None, description="id of the finding, of the same run, that this one follows from"
    )
    data: dict[str, Any] = Field(
        default_factory=dict, description="facts for programs, typed by the rule (its ``Data``)"
    )
    confirmation: Confirmation = Confirmation()

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key: what ended the program, then severity, causes before symptoms, cost, count."""
        return order(self)

    @property
    def promising(self) -> tuple[Advice, ...]:
        """The advice that people are told: without what is unlikely to help, if there is more.

        What worked when the program ran again is told, whatever came of it elsewhere.
        """
        here = {one.advice for one in self.confirmation.tried if one.outcome in {"gone", "fewer"}}
        told = [each for each in self.advice if each.id in here or not each.is_unlikely]
        if not told and self.advice:
            told = [max(self.advice, key=lambda each: each.worked / each.tried)]
        return (told[0].as_first(), *told[1:]) if told else ()

    @property
    def reason(self) -> str:
        """Why a harmless finding is harmless, in a sentence without its full stop."""
        said = self.harmless or self.message or self.title
        return _SENTENCE_END.split(" ".join(said.split()), maxsplit=1)[0].removesuffix(".")


def fingerprint(code: str, *identity: object) -> str:
    """Return an id that is stable across runs: what the finding is about, no lines or times."""
    text = "\0".join(str(part) for part in identity)
    return f"{code}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


class BrokenPack(Model):
    """An installed package that could not be used, or not wholly; the exit code is then 3."""

    distribution: str
    what: str = Field(description="what is wrong with it, and where")


class Report(Model):
    """The result of one analysis."""

    schema_version: Literal[1] = 1
    tool: Tool
    inputs: tuple[Input, ...]
    runs: tuple[Run, ...] = ()
    environment: Environment
    coverage: Coverage
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    tables: dict[str, list[dict[str, Any]]] = Field(
        default_factory=dict, description="summaries that a renderer draws"
    )
    broken_packs: tuple[BrokenPack, ...] = ()

    def to_json(self) -> str:
        """Return the report as it is stored on disk, without what a terminal would obey."""
        text = self.model_dump_json(indent=2) + "\n"
        return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

    def to_frame(self, table: str = "findings", library: str | None = None) -> Any:
        """Return the findings, or one of ``tables``, as a data frame.

        Args:
            table: ``findings``, or a name in ``tables``.
            library: ``pandas`` or ``polars``; else what is imported, else what is installed.

        Raises:
            UsageError: There is no such table, or neither library is installed.
        """
        return notebook.frame(self, table, library)

    def __repr__(self) -> str:
        return notebook.in_a_line(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return notebook.page(self)

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings to act on: neither harmless, nor suppressed, nor ignored."""
        return tuple(
            finding
            for finding in self.findings
            if finding.severity is not Severity.NONE
            and not (finding.suppressed_by or finding.ignored)
        )

    @property
    def told(self) -> tuple[Finding, ...]:
        """The findings to act on that follow from no other one of these: one for each cause."""
        shown = {(finding.run, finding.id) for finding in self.shown}
        return tuple(f for f in self.shown if (f.run, f.explained_by) not in shown)

    @property
    def symptoms(self) -> dict[tuple[str, str], tuple[Finding, ...]]:
        """The findings that are folded under the one they follow from, by its run and id."""
        told = {(finding.run, finding.id) for finding in self.told}
        out: dict[tuple[str, str], tuple[Finding, ...]] = {}
        for finding in self.shown:
            if finding.explained_by and (finding.run, finding.id) not in told:
                key = (finding.run, finding.explained_by)
                out[key] = (*out.get(key, ()), finding)
        return out

    @property
    def folded(self) -> tuple[Finding, ...]:
        """The other findings: harmless, expected, suppressed or ignored."""
        shown = set(map(id, self.shown))
        return tuple(f for f in self.findings if id(f) not in shown)
