"""The first screen: what is wrong in a sentence, and where the time went, from what there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._strings import wrap
from tracelens.report import Cost, Finding, Report, Severity, two_digits
from tracelens.report.compiling import compiling, is_measured

__all__ = ["Part", "Spent", "bar", "drawn", "spent", "unknown_cost", "verdict"]

#: Parts of the time: name, letter of the bar in text, class of the bar in HTML.
_PARTS = {
    "compile": ("C", "c0"),
    "recompiles": ("R", "bad"),
    "device": ("D", "c2"),
    "host": ("H", "c1"),
    "communication": ("M", "c4"),
    "copies": ("P", "c6"),
    "idle": (".", "c7"),
}
#: Families of rules whose findings are about a failure, a result or the log: no cost in time.
_NOT_TIME = {
    "ERR": "it is a failure, not a cost",
    "NUM": "it is about results, not time",
    "LOG": "it is about the log, not the program",
    "ENV": "it slows down everything",
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
#: The rule whose data say what the CPU does in a trace without a device.
_ON_CPU = "TRC030"
#: What it does besides.
_OTHER = "the rest"
#: A span of Python that waits looks like one that works.
_CALLED = {"Python": "Python and waiting"}


class Part(NamedTuple):
    """A part of the time."""

    name: str
    ms: float
    letter: str
    kind: str
    start: float
    share: float


class Spent(NamedTuple):
    """Where the time went."""

    total_ms: float
    parts: tuple[Part, ...]
    #: What the parts are taken from.
    of: str


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
        said = _words.cost(told[0].cost)
        return f"One thing to look at: {first}; it costs {said}" if said else (
            f"One thing to look at: {first}; what it costs is not known from this log"
        )  # fmt: skip
    return f"{_costs(told)}; first to fix: {first}"


def _costs(told: tuple[Finding, ...]) -> str:
    """Return ``3 of 5 things cost you about 40 % of ...``; costs that add up are added."""
    things = f"{len(told):,} things"
    every = [f.cost for f in told if f.cost and f.cost.basis != "confirmed"]
    bounds = [cost for cost in every if cost.basis == "upper_bound"]
    # What is a bound counts where there is nothing better; else it is told behind what is known.
    known = [cost for cost in every if cost.basis != "upper_bound"] or every
    rest = bounds if len(known) < len(every) else []
    shares, total = _largest([cost for cost in known if cost.share])
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
    family = finding.code[:3]
    if finding.data.get("seconds"):  # it is about nothing else, and says so
        return ""
    if where := _ELSEWHERE.get(finding.code):
        return where
    if why := _NOT_TIME.get(family):
        return f"none in time: {why}" if family != "ENV" else f"unknown: {why}"
    there = _kinds(finding.run, report)
    for kinds, how in _SHOWN_BY.get(finding.code, _SHOWN_BY.get(family, (_TRACE,))):
        if there.isdisjoint(kinds):
            return f"unknown: needs {how}"
    if any(advice.knob is not None for advice in finding.advice):
        return "unknown: `tracelens confirm` measures it"
    return "unknown: `tracelens compare` with a run after the change shows it"


def _kinds(run: str, report: Report) -> set[str]:
    """Return the log kinds of one run: what another one has recorded shows nothing of it."""
    paths = {path for one in report.runs if one.name == run for path in one.inputs}
    mine = [source for source in report.inputs if source.path in paths] or report.inputs
    return {kind for source in mine for kind in source.kinds}


def spent(report: Report) -> Spent | None:
    """Return where the time went; None where nothing says it."""
    found: dict[str, float] = {}
    sources: list[str] = []
    for name, source, parts in (
        ("time", "the trace", _of_devices),
        ("steps", "the trace", partial(_of_cpu, report)),
        ("frames", "compile times", partial(_of_compiling, report)),
        ("primitives", "oneDNN's times", _of_host),
        ("mkl", "MKL's times", _of_host),
    ):
        said = {key: ms for key, ms in parts(report.tables.get(name, [])).items() if ms > 0}
        sources += [source] if said else []
        for key, ms in said.items():
            found[key] = found.get(key, 0.0) + ms
    total = sum(found.values())
    if not total:
        return None
    out: list[Part] = []
    for name, (letter, kind) in (*_PARTS.items(), *_others(found)):
        if name in found:
            start = out[-1].start + out[-1].share if out else 0.0
            out.append(Part(name, found[name], letter, kind, start, found[name] / total))
    return Spent(total, tuple(out), _words.joined(list(dict.fromkeys(sources))))


def _others(found: Iterable[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the parts that have no fixed letter with one that is free, and a class in turn."""
    taken = {letter for letter, _ in _PARTS.values()}
    kinds = cycle(("c2", "c1", "c4", "c6", "c3"))
    for name in found:
        if name not in _PARTS and name != _OTHER:
            free = [char for char in name.upper() if char.isalpha() and char not in taken]
            letter = free[0] if free else "x"
            taken.add(letter)
            yield name, (letter, next(kinds))
    yield _OTHER, ("-", "c7")


def _of_devices(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the parts of the window of each device, on the average of the devices."""
    windows = [row for row in rows if word(row, "phase") == "window"]
    names = {"compute_ms": "device", "exposed_comm_ms": "communication"}
    names |= {"exposed_copy_ms": "copies", "idle_ms": "idle"}
    return {
        name: sum(number(row, column) for row in windows) / max(len(windows), 1)
        for column, name in names.items()
    }


def _of_cpu(report: Report, rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return what the CPU did in traces that have no device, kind by kind, on average of ranks."""
    out: dict[str, float] = {}
    told: set[str] = set()
    for finding in report.findings:
        kinds = finding.data.get("kinds")
        if finding.code != _ON_CPU or not finding.data.get("on_cpu") or finding.run in told:
            continue
        told.add(finding.run)
        whole = [
            number(row, "mean_ms")
            for row in rows
            if row.get("kind") == "trace" and row.get("run", finding.run) == finding.run
        ]
        window = sum(whole) / max(len(whole), 1)
        if not isinstance(kinds, dict) or sum(kinds.values()) > 1:  # threads beside each other
            continue
        for kind, share in (*kinds.items(), (_OTHER, 1 - sum(kinds.values()))):
            name = _CALLED.get(kind, kind)
            out[name] = out.get(name, 0.0) + window * share
    return out


def _of_compiling(report: Report, rows: list[dict[str, Any]]) -> dict[str, float]:
    sums = compiling(rows, measured=is_measured(report))
    return {"compile": 1000 * (sums.seconds - sums.again), "recompiles": 1000 * sums.again}


def _of_host(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {"host": sum(number(row, "ms") for row in rows)}


def drawn(found: Spent, cells: int) -> str:
    """Return the bar with its total, and below it what its letters mean."""
    total = f" {_words.milliseconds(found.total_ms)}"
    said = [
        f"{part.letter} {part.name} {_words.milliseconds(part.ms)} ({_words.percent(part.share)})"
        for part in found.parts
    ]
    lines = wrap(f"{', '.join(said)}; from {found.of}.", cells)
    return "\n".join([bar(found, cells - len(total)) + total, *lines])


def bar(found: Spent, cells: int) -> str:
    """Return the parts as a row of letters; each part has one at least."""
    room = max(cells - 2, len(found.parts))
    widths = [max(1, round(part.share * room)) for part in found.parts]
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    while sum(widths) < room:
        widths[widths.index(max(widths))] += 1
    letters = (part.letter * width for part, width in zip(found.parts, widths, strict=True))
    return f"|{''.join(letters)}|"
