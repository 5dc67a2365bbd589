"""All counters of several reports, side by side.

A kind of evidence is one function that yields what it counts of one report; a new kind is a new
function in :data:`EVIDENCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tracelens.report.compare import dynamo, inductor, onednn, traces
from tracelens.report.compare.measures import Measure, close, judged
from tracelens.report.compare.model import Choice, Counter, State
from tracelens.report.model import Report

__all__ = ["EVIDENCE", "counters", "winners"]

#: What counts, in the order in which a reader wants it.
EVIDENCE: tuple[Callable[[Report], Iterable[Measure]], ...] = (
    traces.steps,
    traces.explored,
    dynamo.graph_breaks,
    dynamo.recompiles,
    dynamo.compilation,
    dynamo.guards,
    inductor.generated_code,
    inductor.tuning,
    onednn.primitives,
    traces.devices,
    traces.profiled,
    traces.shapes,
    traces.kernels,
    traces.generated,
    traces.modules,
    traces.module_operators,
    traces.operators,
)
_Key = tuple[str, str | None]


def counters(reports: Sequence[Report]) -> list[Counter]:
    """Return every counter that any of the reports has, totals before their parts."""
    found = [_of(report) for report in reports]
    totals = dict.fromkeys(name for held in found for name, of in held)
    alike = len({frozenset(_watched(report)) for report in reports}) == 1
    keys: list[_Key] = []
    for name in totals:
        parts = dict.fromkeys(of for held in found for other, of in held if other == name)
        here = [(name, of) for of in parts]
        keys += sorted(here, key=lambda key: _rank(key, [held.get(key) for held in found]))
    return [_counter(key, found, alike=alike) for key in keys]


def _watched(report: Report) -> Iterable[str]:
    return (name for run in report.runs for name in run.watched)


def _rank(key: _Key, held: Sequence[Measure | None]) -> tuple[bool, float, str]:
    values = [one.value for one in held if one is not None and one.value is not None]
    return key[1] is not None, -max(values, default=0.0), key[1] or ""


def _of(report: Report) -> dict[_Key, Measure]:
    return {
        (measure.name, measure.of): measure
        for count in EVIDENCE
        for measure in count(report)
        if measure.value is not None
    }


def _counter(key: _Key, found: Sequence[dict[_Key, Measure]], *, alike: bool) -> Counter:
    held = [one.get(key) for one in found]
    first = next(one for one in held if one is not None)
    values = tuple(_value(key, one, first) for one in found)
    spreads = tuple(one.spread if one else None for one in held)
    return Counter(
        name=key[0],
        of=key[1],
        unit=first.unit,
        before=values[0],
        after=values[-1],
        values=values,
        spread=spreads if any(spreads) else (),
        at_least=any(one is not None and one.at_least for one in held),
        better=first.better,
        state=_state(values, first, found, alike=alike),
    )


def _state(
    values: Sequence[float | None],
    first: Measure,
    found: Sequence[dict[_Key, Measure]],
    *,
    alike: bool,
) -> State:
    """Return what became of a counter.

    Only that it changed, where the work was not the same, or where it is a bound that depends on
    what was recorded and that was not the same.
    """
    ends = [held.get((first.name, first.of)) for held in (found[0], found[-1])]
    bounds = any(one is not None and one.at_least for one in ends)
    if bounds and values[0] == values[-1] and not alike:
        return "unknown"
    better = None if bounds and not alike else first.better
    if first.grows_with is not None:
        work = [held.get((first.grows_with, None)) for held in (found[0], found[-1])]
        amounts = [one.value for one in work if one is not None and one.value is not None]
        if len(amounts) < len(work) or not close(*amounts):
            better = None
    return judged(values[0], values[-1], better, first.unit)


def _value(key: _Key, found: dict[_Key, Measure], like: Measure) -> float | None:
    """Return the value; a part that others have is 0 where its total is told in parts, or is 0."""
    if key in found:
        return found[key].value
    name, of = key
    if of is None or like.spread is not None:
        return None
    total = found.get((name, None))
    in_parts = any(other == name and part is not None for other, part in found)
    return 0.0 if in_parts or (total is not None and not total.value) else None


def winners(reports: Sequence[Report]) -> list[Choice]:
    """Return the searches that do not have the same winner everywhere."""
    found = [inductor.winners(report) for report in reports]
    out = []
    for name in dict.fromkeys(name for held in found for name in held):
        chosen = [held.get(name, (None, None)) for held in found]
        kernels = [_without_number(kernel) for kernel, _ in chosen]
        if len(set(kernels)) > 1:
            values = tuple(kernel for kernel, _ in chosen)
            out.append(Choice(name=name, values=values, ms=tuple(ms for _, ms in chosen)))
    return out


def _without_number(kernel: str | None) -> str | None:
    """Return a candidate without the number that it got in its process: ``triton_mm_17``."""
    return kernel.rstrip("0123456789").rstrip("_") if kernel else kernel
