"""Where the time went, in one bar, from whatever evidence there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from tracelens.render import _words
from tracelens.render._rows import number, word
from tracelens.render._strings import wrap
from tracelens.report import Finding, Report, Run, Severity, two_digits
from tracelens.report.compiling import compiling, is_measured

__all__ = ["Part", "Shown", "Spent", "bar", "by_run", "drawn", "lines", "spent"]

#: Parts of the time: name, letter of the bar in text, class of the bar in HTML.
_PARTS = {
    "compile": ("C", "c0"),
    "recompiles": ("R", "bad"),
    "tuning": ("T", "c3"),
    "device": ("D", "c2"),
    "oneDNN": ("O", "c1"),
    "MKL": ("K", "c5"),
    "communication": ("M", "c4"),
    "copies": ("P", "c6"),
    "idle": (".", "c7"),
}
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
    #: What it is of, where there are several bars: the run.
    run: str = ""
    #: How much of the recompiles is no finding, and where that is told.
    expected: str = ""
    #: What lies before it, where that is much.
    before: str = ""


class Shown(NamedTuple):
    """The bars of the first screen."""

    bars: tuple[Spent, ...]
    #: What they are, where they are not the one bar of one run.
    lead: str = ""


#: Runs that get a bar: those with most time.
MAX_RUNS = 3
#: Tables about compiling.
_COMPILING = frozenset({"frames", "autotune"})
#: Part of the time below which what ran is drawn apart from compiling.
MIN_BESIDE = 0.01
#: Part of the recompiles from which those that were expected are told.
MIN_EXPECTED = 0.1
#: Part of compiling that recompiles cannot be, where something was compiled first.
MOST_AGAIN = 0.99
#: Part of the window of a device from which on it is told what lies before it.
MIN_EARLY = 0.1
#: The rule whose data say how much of that is a start, and the part of it that makes it one.
_STARTS, MOST = "TRC023", 0.5
#: A share from which on it is all of it.
NEARLY_ALL = 0.99
#: Cells before a bar in text, at least.
MIN_LEAD = 5


def by_run(report: Report) -> Shown:
    """Return a bar for each run, longest first: times of unrelated runs have no sum."""
    if len(report.runs) < 2:
        return Shown(_of_one(report))
    told = [(run.name, spent(part)) for run, part in _parted(report)]
    every = [found._replace(run=name) for name, found in told if found]
    every.sort(key=lambda found: -found.total_ms)
    lead = f"Time in {_words.plural(len(every), 'run')} that tell it"
    if len(every) > MAX_RUNS:
        lead = f"Time in the {MAX_RUNS} longest of {len(every)} runs that tell it"
    return Shown(tuple(every[:MAX_RUNS]), lead if len(every) > 1 else "")


def _of_one(report: Report) -> tuple[Spent, ...]:
    """Return the bar of one run; two where its parts would not be seen beside compiling."""
    whole = spent(report)
    if whole is None:
        return ()
    tables = report.tables
    compiled, ran = (
        spent(report.model_copy(update={"tables": {n: tables[n] for n in names}}))
        for names in (tables.keys() & _COMPILING, tables.keys() - _COMPILING)
    )
    if compiled and ran and len(ran.parts) > 1 and ran.total_ms < MIN_BESIDE * whole.total_ms:
        return compiled._replace(run="compile"), ran._replace(run="run")
    return (whole,)


def _parted(report: Report) -> Iterator[tuple[Run, Report]]:
    """Yield each run with what the report holds of it."""
    tables: defaultdict[str, dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for name, rows in report.tables.items():
        for row in rows:
            tables[word(row, "run")].setdefault(name, []).append(row)
    findings: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.run].append(finding)
    inputs = {source.path: source for source in report.inputs}
    for run in report.runs:
        changes = {
            "runs": (run,),
            "tables": tables[run.name],
            "findings": tuple(findings[run.name]),
            "inputs": tuple(inputs[path] for path in run.inputs if path in inputs),
        }
        yield run, report.model_copy(update=changes)


def spent(report: Report) -> Spent | None:
    """Return where the time went; None where nothing says it."""
    found: dict[str, float] = {}
    sources: list[str] = []
    for name, source, parts in (
        ("time", "the trace", _of_devices),
        ("steps", "the trace", partial(_of_cpu, report)),
        ("frames", "compile times", partial(_of_compiling, report)),
        ("primitives", "oneDNN's times", partial(_of_engines, "oneDNN")),
        ("mkl", "MKL's times", partial(_of_engines, "MKL")),
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
    of = _words.joined(list(dict.fromkeys(sources)))
    expected = _expected(report, found.get("recompiles", 0.0))
    return Spent(total, tuple(out), of, expected=expected, before=_before(report))


def _before(report: Report) -> str:
    """Return how long it takes until a device does something, in words; empty for not long."""
    windows = _of_devices(report.tables.get("time", []))
    begins = [number(row, "start_ms") for row in report.tables.get("activity", ())]
    ms = min(begins, default=0.0)
    if ms < MIN_EARLY * sum(windows.values()) or not any(windows.values()):
        return ""
    starts = [f for f in report.findings if f.code == _STARTS]
    is_start = any(number(f.data, "before_ms") >= MOST * ms for f in starts)
    said = f"{_words.milliseconds(ms)} before the first kernel"
    return f"{said}: starting" if is_start else said


def _expected(report: Report, recompiles: float) -> str:
    """Return how many milliseconds of the recompiles the harmless findings tell, in words.

    Their costs may end where a graph is guarded, before its backward is compiled: where they count
    as many entries as were compiled again, all of that was expected.
    """
    costs = [
        finding.cost.ms or 0.0
        for finding in report.findings
        if finding.severity is Severity.NONE
        and finding.code.startswith("RCP")
        and finding.cost
        and finding.cost.basis in {"measured", "estimated"}
    ]
    charged = sum(
        finding.cost.ms or 0.0
        for finding in report.told
        if finding.cost and finding.code[:3] in {"RCP", "DYN"}
    )
    ms = min(sum(costs), recompiles - charged)
    about = [f for f in report.findings if f.code[:3] in {"RCP", "DYN"}]
    again = sum(_entry(row) > 0 for row in report.tables.get("frames", ()))
    if all(f.severity is Severity.NONE and f.explained_by is None for f in about):
        ms = recompiles if costs and sum(f.count for f in about) >= again > 0 else ms
    if ms <= MIN_EXPECTED * recompiles:
        return ""
    if ms >= NEARLY_ALL * recompiles:
        return "the recompiles were expected: see notes"
    return f"about {_words.milliseconds(two_digits(ms))} of the recompiles were expected: see notes"


def _entry(row: dict[str, Any]) -> int:
    """Return which entry of its function a row of frames is about: 1 for ``0/1``."""
    entry = word(row, "frame").rpartition("/")[2].partition("_")[0]
    return int(entry) if entry.isdecimal() else 0


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
    windows = [
        row for row in rows if word(row, "phase") == "window" and word(row, "device") != "cpu"
    ]
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
            name = _CALLED.get(str(kind), str(kind))
            out[name] = out.get(name, 0.0) + window * share
    return out


def _of_compiling(report: Report, rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the parts of compiling; by the clocks of a log, it may seem shorter than its searches.

    Searches are taken out of first compilations before they are taken out of recompiles. Clocks
    that tell recompiles alone, of a log that also has first compilations, missed these: there is
    no share then.
    """
    measured = is_measured(report)
    sums = compiling(rows, measured=measured)
    if not measured and sums.again > MOST_AGAIN * sums.seconds and _has_first(rows):
        return {}
    tuning = sum(number(row, "seconds") for row in report.tables.get("autotune", ()))
    rest = max(0.0, sums.seconds - tuning)
    again = min(sums.again, rest)
    seconds = {"compile": rest - again, "recompiles": again, "tuning": tuning}
    return {name: 1000 * value for name, value in seconds.items()}


def _has_first(rows: list[dict[str, Any]]) -> bool:
    return any(word(row, "frame").endswith("/0") for row in rows)


def _of_engines(library: str, rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return what a library's calls took: on a CPU, not what else the program did meanwhile."""
    out = {"device": 0.0, library: 0.0}
    for row in rows:
        of_gpu = word(row, "engine").startswith("gpu")
        out["device" if of_gpu else library] += number(row, "ms")
    return out


def lines(shown: Shown, cells: int) -> list[str]:
    """Return the bars as lines of text, each behind the name of its run."""
    names = [found.run or "time" for found in shown.bars]
    room = max(MIN_LEAD, *(len(name) + 1 for name in names)) if names else MIN_LEAD
    out = wrap(f"{shown.lead}:", cells) if shown.lead else []
    for name, found in zip(names, shown.bars, strict=True):
        first, *rest = drawn(found, cells - room).split("\n")
        out += [name.ljust(room) + first, *(" " * room + line for line in rest)]
    return out


def drawn(found: Spent, cells: int) -> str:
    """Return the bar with its total, and below it what its letters mean."""
    total = f" {_words.milliseconds(found.total_ms)}"
    said = [
        f"{part.letter} {part.name} {_words.milliseconds(part.ms)} ({_words.percent(part.share)})"
        for part in found.parts
    ]
    expected = f"; {found.expected}" if found.expected else ""
    lines = wrap(f"{', '.join(said)}; from {found.of}{expected}.", cells)
    lines += wrap(f"Not in the bar: {found.before}.", cells) if found.before else []
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
