"""The first screen: what is wrong in a sentence, and what would show a cost that is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tracelens.render import _words
from tracelens.report import Finding, Report, Severity, two_digits
from tracelens.words import length

__all__ = ["NO_TIME", "is_mild", "to_fix", "unknown_cost", "verdict"]

#: How the words about a finding begin that costs no time.
NO_TIME = "none in time"

#: Families of rules whose findings are about a failure, a result or the log: no cost in time.
_NOT_TIME = {
    "ERR": f"{NO_TIME}: it is a failure, not a cost",
    "NUM": f"{NO_TIME}: it is about results, not time",
    "LOG": f"{NO_TIME}: it is about the log, not the program",
    "ENV": "unknown: it slows down everything",
}
_TRACE = (("chrome_trace",), "a profiler trace (`tracelens run --trace`)")
_COMPILING = (("torch_trace",), "TORCH_TRACE=trace_dir")
#: What would show the cost of the findings of a family or a rule, the cheapest first: (log kinds
#: that hold it, how to record them).
_SHOWN_BY = {
    "ONE": ((("onednn_verbose",), "ONEDNN_VERBOSE=1"),),
    "TUN": ((("autotune",), 'TORCH_LOGS="+inductor"'), _TRACE),
    "GBR": (_COMPILING, _TRACE),
    "RCP": (_COMPILING,),
    "DYN": (_COMPILING, _TRACE),
    "CMP": (_COMPILING,),
    # It compiled nothing: no record of compiling shows what eager execution costs.
    "CMP007": (),
    # Nor what the calls cost that no entry takes any more.
    "RCP001": (_TRACE,),
    "RCP028": (_TRACE,),
    "RCP030": (_TRACE,),
}
#: Rules that tell, from a trace, what the pieces of a graph and eager operators cost.
_PIECES, _EAGER = "TRC005", "TRC008"
#: Rules whose cost is told by others.
_ELSEWHERE = {
    "RCP024": "told by the findings about each function",
    "ENV002": "unknown: it slows down products in float32, and nothing else",
}
#: What tells of all time in which a device is idle, and what tells of parts of it.
_IDLE = "TRC001"
_OF_IDLE = frozenset(
    {"TRC002", "TRC003", "TRC006", "TRC013", "TRC023", "TRC024", "TRC026", "TRC029"}
)
#: Findings that cost nothing where they are: of a rule, by what its data call the reason.
_NOTHING = {("CGR011", "cpu"): f"{NO_TIME}: there are no CUDA graphs on a CPU"}


def verdict(report: Report) -> str:
    """Return what is wrong, in a sentence without its full stop; the headline where nothing is."""
    told = report.told
    if not told:
        return _words.headline(report)
    chosen = to_fix(told)
    first = " ".join(chosen.title.split())
    rest = f"; {_words.plural(len(told) - 1, 'more finding')}" if len(told) > 1 else ""
    if told[0].data.get("suppressed"):
        return f"An error was suppressed: {first}{rest}"
    if _is_failure(told[0]):
        who = "The program" if len(report.runs) < 2 else "A program"
        return f"{who} failed: {first}{rest}"
    mild = "No errors or warnings; " if is_mild(report) else ""
    if len(told) == 1:
        one = f"{mild}one" if mild else "One"
        return f"{one} thing to look at: {first}{_its_cost(told[0])}"
    what = "fix" if chosen.advice else "read"
    return f"{mild}{_costs(told, chosen)}; first to {what}{_though(told, chosen)}: {first}"


def is_mild(report: Report) -> bool:
    """Whether all that is told is information, and the program is not known to have failed.

    Nor is it told of a message that a text quotes, which somebody's program did fail with.
    """
    failed = report.tables.get("errors") or any(run.ended == "error" for run in report.runs)
    told = report.told
    quoted = any(one.code.startswith("ERR") for one in told)
    mild = bool(told) and all(one.severity is Severity.INFO for one in told)
    return mild and not (failed or quoted)


def to_fix(told: tuple[Finding, ...]) -> Finding:
    """Return the first finding, or the first as severe that names a change where it names none."""
    first = told[0]
    if first.advice or _is_failure(first) or first.data.get("suppressed"):
        return first
    return next((f for f in told if f.advice and f.severity is first.severity), first)


def _is_failure(finding: Finding) -> bool:
    """Whether a finding is why the program failed; a message that a guide quotes is none."""
    is_told = finding.code.startswith("ERR") and finding.severity is not Severity.INFO
    return is_told or bool(finding.data.get("ended_program"))


def _though(told: tuple[Finding, ...], first: Finding) -> str:
    """Return that what others cost is not what the first finding costs, where that is not known."""
    if not any(_words.cost(finding.cost) for finding in told):
        return ""
    is_known = _words.cost(first.cost) or _per_call(first) or _is_no_time(first)
    return "" if is_known else ", though its cost is unknown"


def _is_no_time(finding: Finding) -> bool:
    """Whether a finding is not about time, or says in its title how much of it."""
    return bool(_titled_ms(finding)) or finding.code[:3] in _NOT_TIME.keys() - {"ENV"}


def _titled_ms(finding: Finding) -> float:
    """Return the milliseconds that a title says; 0 where it says none."""
    seconds = finding.data.get("seconds")
    ms = 1000 * seconds if isinstance(seconds, float) else 0.0
    return ms if ms and length(ms) in finding.title else 0.0


def _its_cost(finding: Finding) -> str:
    """Return what the only finding costs, as the end of the sentence about it."""
    share = finding.cost.share if finding.cost else None
    if _is_no_time(finding) and not share:
        return ""
    said = _words.cost(finding.cost) or _per_call(finding)
    return f"; it costs {said}" if said else "; what it costs is not known from this log"


def _costs(told: tuple[Finding, ...], chosen: Finding) -> str:
    """Return ``3 of 5 things cost you about 40 % of ...``; costs that add up are added.

    They are told in what the cost of the one to fix first is told in; more than that in seconds is
    told behind it. What several runs have alike is one thing.
    """
    where = _several(told)
    things = f"{_words.plural(_different(told), 'thing')}{where}"
    every = [f for f in told if f.cost and f.cost.basis != "confirmed"]
    bounds = [f for f in every if _is_bound(f)]
    # What is a bound counts where there is nothing better; else it is told behind what is known.
    known = [f for f in every if not _is_bound(f)] or every
    if _is_left_out(chosen, known):
        known = every if _share(chosen) else [chosen]
    rest = [one for one in bounds if one not in known] if len(known) < len(every) else []
    first = chosen.cost if any(f is chosen for f in known) else None
    like_first = [
        f for f in known if first and first.share and first.of and f.cost and f.cost.of == first.of
    ]
    shares, total = _largest(filter(_share, like_first or known))
    if any(map(_is_bound, shares)) and _in_all(shares, _share) > 1:  # they overlap
        shares = [max(shares, key=_share)]
        total = _share(shares[0])
    if _is_time(chosen) and (first or any(map(_is_time, known))):
        shares = []
    if _titled_ms(chosen) > max(map(_ms, every), default=0.0):  # the title says the most
        return f"{things} found"
    if shares and (of := shares[0].cost and shares[0].cost.of):
        alike = [f for f in rest if _share(f) and f.cost and f.cost.of == of]
        more = min(_in_all(alike, _share, shares), 1.0)
        said = f"{_lead(shares, things)} {_words.percent(total)} of {of}"
        bounded = _bounded(_different(alike), _words.percent(more) if more else "")
        slow = [f for f in known if _is_time(f)]
        ms = sum(map(_ms, slow))
        if ms <= sum(map(_ms, shares)):
            return said + bounded
        slower = f"{_different(slow):,} more about {_words.milliseconds(two_digits(ms))}"
        return f"{said}{bounded.replace(', and', ',')}, and {slower}"
    times = [f for f in known if _ms(f)]
    if times:
        alike = [f for f in rest if _ms(f)]
        ms, most = two_digits(_in_all(times, _ms)), two_digits(_in_all(alike, _ms, times))
        said = f"{_lead(times, things)} {_words.milliseconds(ms)}"
        return said + _bounded(_different(alike), _words.milliseconds(most) if most else "")
    loud = _different(f for f in told if f.severity in {Severity.ERROR, Severity.WARNING})
    weight = f", {loud:,} of them worth fixing first" if 0 < loud < _different(told) else ""
    found = f"{_words.plural(_different(told), 'thing')} found{where}{weight}"
    what = "what it costs" if _different(told) == 1 else "what they cost"
    return f"{found}; {what} is not known from {'these logs' if where else 'this log'}"


def _is_left_out(first: Finding, known: list[Finding]) -> bool:
    """Whether a sum of what is ``known`` says less than the cost of the one to fix ``first``.

    That is so where it is a bound, and larger than all that is known of the same thing.
    """
    if not first.cost or any(one is first for one in known):
        return False
    if not _share(first):
        return any(map(_share, known)) and sum(map(_ms, known)) < _ms(first)
    alike = [one for one in known if one.cost and one.cost.of == first.cost.of]
    return sum(map(_share, alike)) < _share(first)


def _different(findings: Iterable[Finding]) -> int:
    """Return how many things are found, in however many runs."""
    return len({finding.id for finding in findings})


def _several(told: tuple[Finding, ...]) -> str:
    """Return in how many runs the findings are, where several have the same."""
    runs = len({finding.run for finding in told})
    return f" in {_words.plural(runs, 'run')}" if _different(told) < len(told) else ""


def _is_bound(finding: Finding) -> bool:
    return finding.cost is not None and finding.cost.basis == "upper_bound"


def _bounded(count: int, most: str) -> str:
    """Return what else there is of which only a bound is known."""
    return f", and {count:,} more at most {most}" if count and most else ""


def _largest(findings: Iterable[Finding]) -> tuple[list[Finding], float]:
    """Return the findings whose costs are shares of one thing and most of it, and their sum."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.cost.of or "" if finding.cost else "", []).append(finding)
    sums = {of: min(_in_all(group, _share), 1.0) for of, group in groups.items()}
    if not sums:
        return [], 0.0
    of = max(sums, key=lambda of: (bool(of), sums[of]))
    return groups[of], sums[of]


def _in_all(
    findings: Iterable[Finding],
    value: Callable[[Finding], float],
    told: Iterable[Finding] = (),
) -> float:
    """Return what findings cost in all: time in which a device is idle counts once.

    What is ``told`` of it already is taken off.
    """
    total = 0.0
    whole: dict[str, float] = {}
    parts: dict[str, float] = {}
    for finding in findings:
        kept = parts if finding.code in _OF_IDLE else whole
        if finding.code == _IDLE or finding.code in _OF_IDLE:
            kept[finding.run] = kept.get(finding.run, 0.0) + value(finding)
        else:
            total += value(finding)
    for finding in told:
        if finding.code in _OF_IDLE and finding.run in whole:
            whole[finding.run] -= value(finding)
    runs = whole.keys() | parts.keys()
    return total + sum(max(whole.get(run, 0.0), parts.get(run, 0.0), 0.0) for run in runs)


def _share(finding: Finding) -> float:
    return finding.cost.share or 0.0 if finding.cost else 0.0


def _ms(finding: Finding) -> float:
    return finding.cost.ms or 0.0 if finding.cost else 0.0


def _is_time(finding: Finding) -> bool:
    """Whether the cost is told in seconds, and is a share of nothing."""
    return bool(_ms(finding) and not _share(finding))


def _lead(findings: list[Finding], things: str) -> str:
    about = "about"
    if any(map(_is_bound, findings)):
        about = "at most"
    count = _different(findings)
    return f"{count:,} of {things} {'costs' if count == 1 else 'cost'} you {about}"


def unknown_cost(finding: Finding, report: Report) -> str:
    """Return ``unknown: TORCH_TRACE=... would show it``; empty where the cost is known."""
    if _words.cost(finding.cost) or finding.severity is Severity.NONE:
        return ""
    family = "ERR" if finding.data.get("ended_program") else finding.code[:3]
    if finding.data.get("seconds"):  # it is about nothing else, and says so
        return ""
    each = _per_call(finding)
    share = f"{each}; what share of a step that is needs {_TRACE[1]}" if each else ""
    there = _kinds(finding.run, report)
    together = _together(finding, report) if there.intersection(_TRACE[0]) else ""
    nothing = _NOTHING.get((finding.code, str(finding.data.get("why"))))
    told = _ELSEWHERE.get(finding.code) or _NOT_TIME.get(family)
    if why := share or nothing or told or together:
        return why
    shown = _SHOWN_BY.get(finding.code, _SHOWN_BY.get(family, (_TRACE,)))
    for kinds, how in shown if not _runs_eagerly(finding) else (_TRACE,):
        if there.isdisjoint(kinds):
            return f"unknown: needs {how}"
    if any(advice.knob is not None for advice in finding.advice):
        return "unknown: `tracelens confirm` measures it"
    return "unknown: `tracelens compare` with a run after the change shows it"


def _together(finding: Finding, report: Report) -> str:
    """Return what a trace shows of all breaks, or of all that runs eagerly, where one does."""
    eagerly = _runs_eagerly(finding)
    if not finding.code.startswith("GBR") and not eagerly:
        return ""
    for other in report.findings:
        is_told = other.run == finding.run and not (other.ignored or other.suppressed_by)
        if is_told and other.code == (_EAGER if eagerly else _PIECES):
            what = "all that runs eagerly" if eagerly else "all pieces"
            said = _words.cost(other.cost)
            return f"unknown by itself; {what}: {said} ({other.code})" if said else ""
    return ""


def _runs_eagerly(finding: Finding) -> bool:
    """Whether what it costs are eager calls: of what was given up each time, or beyond a limit."""
    if finding.code.startswith("RCP") and finding.data.get("is_hit"):
        return True
    given_up = finding.data.get("skipped")
    return (
        finding.code.startswith("GBR")
        and bool(given_up)
        and (given_up == finding.data.get("records"))
    )


def _per_call(finding: Finding) -> str:
    """Return what the guards of one call take, where torch measured it: the calls are not known."""
    us = finding.data.get("us") if finding.code.startswith("GRD") else None
    return f"{_words.milliseconds(us / 1000)} at each call" if us else ""


def _kinds(run: str, report: Report) -> set[str]:
    """Return the log kinds of one run: what another one has recorded shows nothing of it."""
    paths = {path for one in report.runs if one.name == run for path in one.inputs}
    mine = [source for source in report.inputs if source.path in paths] or report.inputs
    return {kind for source in mine for kind in source.kinds}
