"""The first screen: what is wrong in a sentence, and what would show a cost that is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.render import _words
from tracelens.report import Cost, Finding, Report, Severity, two_digits
from tracelens.words import length

__all__ = ["NO_TIME", "unknown_cost", "verdict"]

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
#: Rules whose cost is told by others.
_ELSEWHERE = {"RCP024": "told by the findings about each function"}


def verdict(report: Report) -> str:
    """Return what is wrong, in a sentence without its full stop; the headline where nothing is."""
    told = report.told
    if not told:
        return _words.headline(report)
    first = " ".join(told[0].title.split())
    if told[0].data.get("ended_program") or told[0].code.startswith("ERR"):
        rest = f"; {_words.plural(len(told) - 1, 'more finding')}" if len(told) > 1 else ""
        who = "The program" if len(report.runs) < 2 else "A program"
        return f"{who} failed: {first}{rest}"
    if len(told) == 1:
        return f"One thing to look at: {first}{_its_cost(told[0])}"
    return f"{_costs(told)}; first to fix{_though(told)}: {first}"


def _though(told: tuple[Finding, ...]) -> str:
    """Return that what others cost is not what the first finding costs, where that is not known."""
    if not any(_words.cost(finding.cost) for finding in told):
        return ""
    is_known = _words.cost(told[0].cost) or _per_call(told[0]) or _is_no_time(told[0])
    return "" if is_known else ", though its cost is unknown"


def _is_no_time(finding: Finding) -> bool:
    """Whether a finding is not about time, or says in its title how much of it."""
    seconds = finding.data.get("seconds")
    told = isinstance(seconds, float) and length(1000 * seconds) in finding.title
    return told or finding.code[:3] in _NOT_TIME.keys() - {"ENV"}


def _its_cost(finding: Finding) -> str:
    """Return what the only finding costs, as the end of the sentence about it."""
    share = finding.cost.share if finding.cost else None
    if _is_no_time(finding) and not share:
        return ""
    said = _words.cost(finding.cost) or _per_call(finding)
    return f"; it costs {said}" if said else "; what it costs is not known from this log"


def _costs(told: tuple[Finding, ...]) -> str:
    """Return ``3 of 5 things cost you about 40 % of ...``; costs that add up are added.

    They are told in what the first finding's cost is told in, since it is the one to fix first.
    """
    things = f"{len(told):,} things"
    every = [f.cost for f in told if f.cost and f.cost.basis != "confirmed"]
    bounds = [cost for cost in every if cost.basis == "upper_bound"]
    # What is a bound counts where there is nothing better; else it is told behind what is known.
    known = [cost for cost in every if cost.basis != "upper_bound"] or every
    rest = bounds if len(known) < len(every) else []
    first = told[0].cost if told[0].cost in known else None
    like_first = [c for c in known if first and first.share and first.of and c.of == first.of]
    shares, total = _largest([cost for cost in like_first or known if cost.share])
    if first and first.ms and not first.share:
        shares = []
    if shares and shares[0].of:
        alike = [cost for cost in rest if cost.share and cost.of == shares[0].of]
        more = min(sum(cost.share or 0.0 for cost in alike), 1.0)
        said = f"{_lead(shares, len(told))} {_words.percent(total)} of {shares[0].of}"
        return said + _bounded(len(alike), _words.percent(more))
    times = [cost for cost in known if cost.ms]
    if times:
        alike = [cost for cost in rest if cost.ms]
        ms, most = (two_digits(sum(cost.ms or 0.0 for cost in group)) for group in (times, alike))
        said = f"{_lead(times, len(told))} {_words.milliseconds(ms)}"
        return said + _bounded(len(alike), _words.milliseconds(most))
    loud = sum(f.severity in {Severity.ERROR, Severity.WARNING} for f in told)
    weight = f", {loud} of them worth fixing first" if 0 < loud < len(told) else ""
    return f"{things} found{weight}; what they cost is not known from this log"


def _bounded(count: int, most: str) -> str:
    """Return what else there is of which only a bound is known."""
    return f", and {count:,} more at most {most}" if count else ""


def _largest(costs: Iterable[Cost]) -> tuple[list[Cost], float]:
    """Return the costs that are shares of one thing and make up most of it, and their sum."""
    groups: dict[str, list[Cost]] = {}
    for cost in costs:
        groups.setdefault(cost.of or "", []).append(cost)
    sums = {of: min(sum(c.share or 0.0 for c in group), 1.0) for of, group in groups.items()}
    if not sums:
        return [], 0.0
    of = max(sums, key=lambda of: (bool(of), sums[of]))
    return groups[of], sums[of]


def _lead(costs: list[Cost], told: int) -> str:
    bases = {cost.basis for cost in costs}
    about = "at most" if "upper_bound" in bases else "about"
    verb = "costs" if len(costs) == 1 else "cost"
    return f"{len(costs):,} of {told:,} things {verb} you {about}"


def unknown_cost(finding: Finding, report: Report) -> str:
    """Return ``unknown: TORCH_TRACE=... would show it``; empty where the cost is known."""
    if _words.cost(finding.cost) or finding.severity is Severity.NONE:
        return ""
    family = "ERR" if finding.data.get("ended_program") else finding.code[:3]
    if finding.data.get("seconds"):  # it is about nothing else, and says so
        return ""
    each = _per_call(finding)
    share = f"{each}; what share of a step that is needs {_TRACE[1]}" if each else ""
    if why := share or _ELSEWHERE.get(finding.code) or _NOT_TIME.get(family):
        return why
    there = _kinds(finding.run, report)
    shown = _SHOWN_BY.get(finding.code, _SHOWN_BY.get(family, (_TRACE,)))
    for kinds, how in shown if not _runs_eagerly(finding) else (_TRACE,):
        if there.isdisjoint(kinds):
            return f"unknown: needs {how}"
    if any(advice.knob is not None for advice in finding.advice):
        return "unknown: `tracelens confirm` measures it"
    return "unknown: `tracelens compare` with a run after the change shows it"


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
