"""Which finding of one report is which of another, and what has changed about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import PurePath

from tracelens.report.compare.measures import NOISE
from tracelens.report.compare.model import Change, Compared, Findings
from tracelens.report.model import Finding, Outcome, Report, Severity

__all__ = ["compared"]

#: Facts that say what a finding is about: two that differ in one of them are two findings.
SUBJECT = (
    "operator",
    "operators",
    "primitive",
    "op",
    "cause",
    "family",
    "kind",
    "name",
    "package",
    "reason",
    "collective",
)
#: Facts of which more is worse, by their names in the rules' data.
MORE_IS_WORSE = frozenset(
    """
    activations again again_seconds attentions breaks bytes calls captures compilations conditions
    convolutions copied copies entries graphs guards kernels launches layers lost_ms made_again
    nested padded pairs pieces products recompiles records recordings refusals registers reorders
    searches seconds sequences skipped small spills times_again us waits warnings weights
    """.split()  # noqa: SIM905 -- read as a list of words
)
LESS_IS_WORSE = frozenset({"gflops", "gbs", "gb_per_s", "algo_gbs", "bus_gbs"})
#: Families whose counts grow with how long the program ran; only their shares can be compared.
BY_RUN = ("ONE", "TRC", "ENV")


def compared(before: Report, after: Report) -> Findings:
    """Return what became of each finding to act on."""
    pairs = list(_pairs(before.findings, after.findings))
    shown = {id(finding) for report in (before, after) for finding in report.shown}
    out: defaultdict[str, list[Compared]] = defaultdict(list)
    for old, new in pairs:
        if id(old) in shown or id(new) in shown:
            state, entry = _entry(old, new, before, after)
            out[state].append(entry)
    return Findings(**{state: tuple(_sorted(found)) for state, found in out.items()})


def _sorted(found: list[Compared]) -> list[Compared]:
    def order(entry: Compared) -> tuple[object, ...]:
        finding = entry.after or entry.before
        return finding.order if finding is not None else ()

    return sorted(found, key=order)


def _pairs(
    before: Sequence[Finding], after: Sequence[Finding]
) -> Iterator[tuple[Finding | None, Finding | None]]:
    """Yield the findings in pairs: by id, then by what they are about, then the last of a rule."""
    left, right = list(before), list(after)
    for key, only in ((_by_id, False), (_by_place, False), (_by_file, False), (_by_subject, True)):
        matched = list(_matched(left, right, key, only=only))
        yield from matched
        left = _rest(left, {id(old) for old, _ in matched})
        right = _rest(right, {id(new) for _, new in matched})
    yield from ((old, None) for old in left)
    yield from ((None, new) for new in right)


def _rest(findings: list[Finding], taken: set[int]) -> list[Finding]:
    return [finding for finding in findings if id(finding) not in taken]


def _matched(
    left: list[Finding], right: list[Finding], key: Callable[[Finding], Hashable], *, only: bool
) -> Iterator[tuple[Finding, Finding]]:
    """Yield those with the same key, in their order; with ``only``, where each side has one."""
    olds: defaultdict[Hashable, list[Finding]] = defaultdict(list)
    news: defaultdict[Hashable, list[Finding]] = defaultdict(list)
    for finding in left:
        olds[key(finding)].append(finding)
    for finding in right:
        news[key(finding)].append(finding)
    for name, old in olds.items():
        new = news.get(name, [])
        if not only or len(old) == len(new) == 1:
            yield from zip(old, new, strict=False)


def _by_id(finding: Finding) -> Hashable:
    return finding.id


def _by_place(finding: Finding) -> Hashable:
    """A file that was renamed has its functions still."""
    where = finding.where
    place = (where.function or PurePath(where.file).name) if where else ""
    return (*_by_subject(finding), place)


def _by_file(finding: Finding) -> Hashable:
    where = finding.where
    return (*_by_subject(finding), PurePath(where.file).name if where else "")


def _by_subject(finding: Finding) -> tuple[str, ...]:
    return (finding.code, *(str(finding.data.get(name, "")) for name in SUBJECT))


def _entry(
    old: Finding | None, new: Finding | None, before: Report, after: Report
) -> tuple[str, Compared]:
    one = new or old
    assert one is not None  # noqa: S101 -- a pair has one side at least
    entry = Compared(code=one.code, name=one.name, title=one.title, before=old, after=new)
    if old is None or new is None:
        other = before if old is None else after
        why = _not_judged(one.code, other, "before" if old is None else "after")
        state = "not_judged" if why else "new" if old is None else "fixed"
        return state, entry.model_copy(update={"why": why})
    for finding, side in ((old, "before"), (new, "after")):
        if finding.suppressed_by:
            why = f"silenced by {finding.suppressed_by} {side}"
            return "not_judged", entry.model_copy(update={"why": why})
    changes = tuple(_changes(old, new))
    verdict = next((change.worse for change in changes if change.worse is not None), None)
    state = "same" if verdict is None else "worse" if verdict else "better"
    return state, entry.model_copy(update={"changes": changes})


def _not_judged(code: str, report: Report, side: str) -> str:
    """Return why the rule could not have seen the finding on the other side; empty if it could."""
    verdict = next((one for one in report.verdicts if one.code == code), None)
    if verdict is None:
        return f"the rule was not asked {side}"
    if verdict.verdict is Outcome.CRASHED:
        return f"the rule crashed {side}"
    if verdict.verdict is Outcome.ABSENT:
        switch = f" ({' '.join(verdict.needs)})" if verdict.needs else ""
        return f"nothing to look at {side}{switch}"
    return ""


def _changes(old: Finding, new: Finding) -> Iterator[Change]:
    """Yield what has changed, what says most about better and worse first."""
    ranks = _rank(old), _rank(new)
    if ranks[0] != ranks[1]:
        words = old.severity.value, new.severity.value
        yield Change(name="severity", before=words[0], after=words[1], worse=ranks[1] < ranks[0])
    by_run = old.code.startswith(BY_RUN)
    yield from _share(old, new)
    yield from _facts(old, new, by_run=by_run)
    if old.count != new.count:
        worse = None if by_run or _has_numbers(old) else new.count > old.count
        yield Change(name="count", before=old.count, after=new.count, worse=worse)
    costs = [finding.cost.ms if finding.cost else None for finding in (old, new)]
    yield from _timed("ms", costs[0], costs[1], certain=not by_run)


def _rank(finding: Finding) -> int:
    return Severity.NONE.rank if finding.ignored else finding.severity.rank


def _has_numbers(finding: Finding) -> bool:
    return any(name in MORE_IS_WORSE for name in finding.data)


def _share(old: Finding, new: Finding) -> Iterator[Change]:
    shares = [finding.cost.share if finding.cost else None for finding in (old, new)]
    if shares[0] is not None and shares[1] is not None and abs(shares[1] - shares[0]) >= 0.02:
        yield from _timed("share", shares[0], shares[1], certain=True)


def _timed(name: str, old: float | None, new: float | None, *, certain: bool) -> Iterator[Change]:
    if old is None or new is None or abs(new - old) <= NOISE * max(abs(old), abs(new)):
        return
    yield Change(name=name, before=old, after=new, worse=new > old if certain else None)


def _facts(old: Finding, new: Finding, *, by_run: bool) -> Iterator[Change]:
    """Yield the numbers of the rule's own data that are not what they were."""
    for name, before in old.data.items():
        after = new.data.get(name)
        sign = 1 if name in MORE_IS_WORSE else -1 if name in LESS_IS_WORSE else 0
        if not sign or not _is_number(before) or not _is_number(after) or before == after:
            continue
        if name in {"seconds", "again_seconds", "us", "lost_ms", *LESS_IS_WORSE}:
            yield from (
                change.model_copy(update={"worse": (after > before) == (sign > 0)})
                for change in _timed(name, before, after, certain=True)
            )
            continue
        worse = None if by_run and name in {"calls", "copies", "waits"} else after > before
        yield Change(name=name, before=before, after=after, worse=worse)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
