"""One cause is told once: which findings of a run follow from which.

A rule says by keys what a finding of its own causes, and what it may follow from::

    def causes(self, finding: Finding) -> Iterable[Story]:
        return [stories.graph_break(finding.where)]

    def follows(self, finding: Finding) -> Iterable[Story]:
        return [stories.recompiles(file, line)]

Findings of one run that share a key are one story: who follows it is ``explained_by`` who causes
it. The keys below are those that rules of different families share; a rule may use others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from tracelens.report.base import Cost
from tracelens.report.model import Finding, Severity, Where

__all__ = [
    "NO_COMPILER",
    "RESUMED",
    "Story",
    "Teller",
    "as_written",
    "backend_failed",
    "called_apart",
    "called_in_lost",
    "failed_entry",
    "failure",
    "frame",
    "given_up",
    "graph_break",
    "last_batch",
    "layers_apart",
    "left_out",
    "lost_model",
    "number_of",
    "recompiles",
    "resumed",
    "set_up",
    "told_once",
    "transformed",
    "unrolled",
]

#: What a story is about: a word, then whatever tells it from others of the word.
Story = tuple[object, ...]
#: There is no compiler, and what comes of it.
NO_COMPILER: Story = ("no compiler",)
#: How Dynamo calls the code after a graph break, with the function and the line of the break.
RESUMED = "torch_dynamo_resume_in_"
_MAX_DIGITS = 10
#: Stories of traces: what they tell of are shares of the time that is in the trace.
OF_TRACES = "trace "
#: A compilation that failed: what led to it is not harmless, whatever it is in other programs.
FAILED_ENTRY = "failed entry"
#: ... and how many times the share of its cause a symptom may have.
MOST_TIMES = 2.0
#: The part of what was seen that is in one function, from which on it begins there.
MOST_OF = 3 / 4


class Teller(Protocol):
    """What a rule says about its findings."""

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return what ``finding`` is the cause of."""

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return what ``finding`` may be a symptom of, the nearest first."""


def unrolled(file: str, line: int | None) -> Story:
    """Loops are unrolled in all entries of the function defined there."""
    return "unrolled", file, line


def called_in_lost(file: str, line: int) -> Story:
    """The function defined there, compiled by itself: its caller is given up, or breaks in it."""
    return "called in lost", file, line


def lost_model(package: str) -> Story:
    """Layers of a package, compiled by themselves: the model that calls them was given up."""
    return "lost model", package


def called_apart(file: str, line: int) -> Story:
    """Return the story of a function that is compiled by itself since the graph breaks in it."""
    return "apart", file, line


def graph_break(file: str, line: int | None) -> Story:
    """The graph break at a line of the user's code, and what comes of it."""
    return "graph break", file, line


def resumed(function: str, file: str) -> Iterator[Story]:
    """Return the graph break behind which ``torch_dynamo_resume_in_forward_at_35`` begins."""
    line = function.rpartition("_at_")[2]
    if function.startswith(RESUMED) and line.isdecimal() and len(line) < _MAX_DIGITS:
        yield graph_break(file, int(line))


def as_written(function: str) -> str:
    """Return the function of the program that ``torch_dynamo_resume_in_forward_at_35`` is of."""
    name, _, line = function.removeprefix(RESUMED).rpartition("_at_")
    return name if function.startswith(RESUMED) and line.isdecimal() else function


def given_up(function: str) -> str:
    """Return how a function that runs eagerly is told: one that resumes is the rest of another."""
    name = as_written(function)
    return f"the whole function `{name}`" if name == function else f"the rest of `{name}`"


def transformed(function: str, file: str) -> Story:
    """A compiled function that a transformation of torch.func (vmap, grad) calls in eager code."""
    return "transformed", function, file


def last_batch(file: str, line: int | None) -> Story:
    """The smaller batch for which the function at a line was compiled once more."""
    return "last batch", file, line


def number_of(source: str, file: str) -> Story:
    """A number that a module keeps, and that a line of the file computes anew in each call."""
    return "number", source, file


def set_up(function: str, file: str) -> Story:
    """A function that sets something up in the first call: what breaks, or varies, within it."""
    return "set up", function, file


def recompiles(file: str, line: int | None) -> Story:
    """The recompiles of the function that is defined at a line of the user's code."""
    return "recompiles", file, line


def frame(file: str, line: int | None) -> Story:
    """The function, defined at that line, that is compiled, or is not, as a frame of its own."""
    return "frame", file, line


def layers_apart() -> Story:
    """Torch's own layers, which are compiled one by one: the graph breaks where they are called."""
    return ("layers apart",)


def left_out(function: str, file: str) -> Story:
    """A function that runs eagerly because compiling it failed."""
    return "left out", function, file


def backend_failed() -> Story:
    """A backend could not compile an operator, and what Dynamo gave up around it."""
    return ("backend failed",)


def failed_entry(file: str, line: int | None, changed: str) -> Story:
    """The compiler failed on an entry of the function there, compiled since something changed."""
    return FAILED_ENTRY, file, line, changed


def failure(exception: str, where: Where | None) -> Story:
    """An exception, at the user's line that it comes from."""
    return "failure", exception, where.file if where else "", where.line if where else None


def told_once(findings: Sequence[Finding], tellers: Mapping[str, Teller]) -> list[Finding]:
    """Return the findings of one run with their causes, which take the worst severity of a story.

    A cause without a cost of its own has that of its dearest symptom, which goes with it.
    A finding that names its cause itself keeps it, if that is a finding of the run. A harmless,
    ignored or suppressed finding explains nothing: it is not told, or need not be acted on.

    Args:
        findings: Of one run, with ids that are distinct.
        tellers: The rules by code.
    """
    by_id = {finding.id: finding for finding in findings}
    tellable = {finding.id for finding in findings if _is_told(finding)}
    follows = {f.id: list(tellers[f.code].follows(f)) for f in findings if f.code in tellers}
    leaders = _leaders(findings, tellers, follows, tellable)
    above: dict[str, str] = {}
    for finding in findings:
        keys = follows.get(finding.id, ())
        timed = {leaders.get(key) for key in keys if str(key[0]).startswith(OF_TRACES)}
        named = [finding.explained_by, *(leaders.get(key) for key in keys)]
        causes = [one for one in named if one and one in tellable and one != finding.id]
        cause = next((c for c in causes if c not in timed or _bears(by_id[c], finding)), None)
        failed = any(key[0] == FAILED_ENTRY and leaders.get(key) == cause for key in keys)
        if cause is not None and (failed or finding.severity is not Severity.NONE):
            above[finding.id] = cause
    roots = {one: _root(one, above) for one in by_id}
    worst: dict[str, Severity] = {}
    for finding in findings:
        if finding.id in tellable:
            held = worst.setdefault(roots[finding.id], finding.severity)
            worst[roots[finding.id]] = min(held, finding.severity, key=lambda s: s.rank)
    costs = _costs(findings, roots, tellable)
    return [_retold(finding, roots[finding.id], worst, costs) for finding in findings]


def _bears(cause: Finding, finding: Finding) -> bool:
    """Whether a cause is dear enough: what takes more than twice as much has more causes."""
    costs = cause.cost, finding.cost
    shares = [cost.share for cost in costs if cost is not None and cost.share]
    return len(shares) < len(costs) or shares[1] <= MOST_TIMES * shares[0]


def _costs(
    findings: Sequence[Finding], roots: Mapping[str, str], tellable: Container[str]
) -> dict[str, Cost]:
    """Return the largest cost of what follows from each cause, as an estimate."""
    largest: dict[str, Cost] = {}
    for finding in findings:
        cost, root = finding.cost, roots[finding.id]
        if root == finding.id or finding.id not in tellable or cost is None or cost.ms is None:
            continue
        if cost.basis != "confirmed" and cost.ms > (
            largest[root].ms or 0 if root in largest else 0
        ):
            largest[root] = cost
    return {
        root: cost.model_copy(update={"basis": "estimated"}) if cost.basis == "measured" else cost
        for root, cost in largest.items()
    }


def _is_told(finding: Finding) -> bool:
    loud = finding.severity is not Severity.NONE
    return loud and not (finding.ignored or finding.suppressed_by)


def _leaders(
    findings: Sequence[Finding],
    tellers: Mapping[str, Teller],
    follows: Mapping[str, Sequence[Story]],
    tellable: Iterable[str],
) -> dict[Story, str]:
    """Return the cause of each story: one that does not follow it as well, then the worst.

    Where all of them follow it as well, none is told by its cost: they are met one after the other,
    and those behind the first are seen only since it is there. Where most are in one function, it
    is the first in that.
    """
    told = set(tellable)
    causes: defaultdict[Story, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.id in told and finding.code in tellers:
            for key in tellers[finding.code].causes(finding):
                causes[key].append(finding)
    leaders: dict[Story, str] = {}
    for key, found in causes.items():
        outside = [one for one in found if key not in follows.get(one.id, ())]
        worst = min(outside, key=lambda one: one.order) if outside else min(_most(found), key=_met)
        leaders[key] = worst.id
    return leaders


def _most(found: Sequence[Finding]) -> Sequence[Finding]:
    """Return those in one function where they are most of all that was seen, else all."""
    seen: Counter[str | None] = Counter()
    for one in found:
        seen[one.where.function if one.where else None] += one.count
    function, times = seen.most_common(1)[0]
    if times < MOST_OF * seen.total():
        return found
    return [one for one in found if (one.where.function if one.where else None) == function]


def _met(finding: Finding) -> tuple[object, ...]:
    """Sort key: how bad it is, then where the input shows it first."""
    first = min(((one.input, one.line) for one in finding.evidence), default=("", 0))
    return finding.severity.rank, first, finding.order


def _root(one: str, above: Mapping[str, str]) -> str:
    """Return the first cause of a finding; in a circle, which has none, the smallest id."""
    path = [one]
    while (cause := above.get(path[-1])) is not None:
        if cause in path:
            return min(path[path.index(cause) :])
        path.append(cause)
    return path[-1]


def _retold(
    finding: Finding, root: str, worst: Mapping[str, Severity], costs: Mapping[str, Cost]
) -> Finding:
    cause = None if root == finding.id else root
    if cause is not None and finding.harmless is not None:  # a failure is behind it
        update = {"explained_by": cause, "severity": Severity.INFO, "harmless": None}
        return finding.model_copy(update=update)
    severity = worst.get(finding.id, finding.severity) if cause is None else finding.severity
    cost = finding.cost or (costs.get(finding.id) if cause is None else None)
    if (cause, severity, cost) == (finding.explained_by, finding.severity, finding.cost):
        return finding
    return finding.model_copy(update={"explained_by": cause, "severity": severity, "cost": cost})
