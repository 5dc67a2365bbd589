"""What the formats say alike: values with units, changes, the verdict, what is worth a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracelens.render._words import joined, milliseconds, number, percent, plural
from tracelens.report import Finding
from tracelens.report.compare import Change, Compared, Comparison, Counter, Side, Spread

__all__ = [
    "STATES",
    "blocks",
    "change",
    "difference",
    "fact",
    "followers",
    "heads",
    "label",
    "moved",
    "name",
    "sentences",
    "side",
    "sparkline",
    "spread",
    "title",
    "value",
    "verdict",
]

#: What became of findings, in the order in which a reader wants to know.
STATES = {
    "new": "new",
    "worse": "worse",
    "fixed": "fixed",
    "better": "better",
    "not_judged": "not judged",
    "same": "same",
}
#: Counters that tell the story of a comparison, most telling first.
HEADLINES = (
    "step_ms",
    "trace_ms",
    "device_ms",
    "graph_breaks",
    "recompiles",
    "compile_s",
    "reference_share",
    "onednn_ms_per_product",
    "reorders_per_product",
    "fallbacks",
    "kernels",
    "guards",
    "entries",
)
#: How many of them the first sentence has.
MAX_HEADLINES = 3
#: Parts of one counter that get a row, and the share of the total below which a time gets none.
MAX_PARTS = 6
SMALL = 0.02
_NAMES = {
    "autotune_s": "time of the searches",
    "autotune_searches": "searches (AUTOTUNE)",
    "autotune_winners_ms": "winners, summed up",
    "compile_s": "compile time",
    "cpp_kernel_ms": "generated kernels on the CPU",
    "device_ms": "device at work",
    "entries": "compilations",
    "exposed_comm_ms": "exposed communication",
    "exposed_copy_ms": "exposed copies",
    "fallbacks": "fallback calls",
    "frames": "frames",
    "frames_skipped": "frames left to eager",
    "graph_breaks": "graph breaks",
    "graphs": "graphs with kernels",
    "guard_us": "checking all guards once",
    "idle_ms": "device idle",
    "kernels": "generated kernels",
    "kernel_ms": "kernels on the device",
    "library_calls": "library calls",
    "onednn_calls": "oneDNN executions",
    "onednn_ms": "oneDNN time",
    "onednn_ms_per_product": "oneDNN time per product",
    "onednn_products": "oneDNN products",
    "compiled_regions": "compiled regions",
    "op_ms": "operators by shape",
    "module_ms": "modules on the device",
    "module_op_ms": "operators in modules",
    "operator_calls": "operator calls",
    "operator_ms": "operators on the host",
    "profiled_steps": "profiled steps",
    "reference_share": "time in reference kernels",
    "region_ms": "a call of compiled code",
    "reorder_share": "time in reorders",
    "reorders_per_product": "reorders per product",
    "step_ms": "a step",
    "throughput": "steps per second",
    "trace_ms": "the whole trace",
}
#: How calls of compiled frames are named; a label says so itself.
_REGION = "Torch-Compiled Region: "
_BARS = "▁▂▃▄▅▆▇█"


def name(counter: Counter) -> str:
    """Return what a counter counts, in words."""
    return _NAMES.get(counter.name, counter.name.replace("_", " "))


def value(counter: Counter, amount: float | None) -> str:
    """Return a value with its unit; a dash where nobody looked."""
    if amount is None:
        return "-"
    text = _with_unit(counter.unit, amount)
    return f">= {text}" if counter.at_least else text


def _with_unit(unit: str, amount: float) -> str:
    if unit == "share":
        return percent(amount)
    scale = {"ms": 1.0, "s": 1000.0, "us": 0.001}.get(unit)
    return milliseconds(amount * scale) if scale else number(amount)


def spread(value: Spread | None) -> str:
    """Return ``12.3 ms +- 0.4 (n=20)``."""
    if value is None:
        return "-"
    text = milliseconds(value.mean)
    if value.std is not None:
        text += f" +- {milliseconds(value.std)}"
    return f"{text} (n={value.n})" if value.n > 1 else text


def medians(counter: Counter) -> tuple[str, str, str] | None:
    """Return the medians before and after, and their ratio, where a mean is that of outliers."""
    if len(counter.spread) < 2:
        return None
    ends = counter.spread[0], counter.spread[-1]
    if not any(one is not None and one.is_skewed for one in ends):
        return None
    before, after = (one.median if one is not None else None for one in ends)
    if before is None or after is None:
        return None
    return milliseconds(before), milliseconds(after), _ratio(before, after)


def change(counter: Counter) -> str:
    """Return how much a counter has changed, and whether that is better."""
    before, after = counter.before, counter.after
    if before is None or after is None:
        return "not recorded before" if before is None else "not recorded after"
    if before == after or counter.state == "same":
        return "same"
    text = _ratio(before, after)
    return f"{text}, {counter.state}" if counter.state in {"better", "worse"} else text


def _ratio(before: float, after: float) -> str:
    if not before:
        return f"+{number(after)}"
    if not after:
        return "gone"
    most = max(after / before, before / after)
    if most >= 2:
        return f"{number(most)} x {'more' if after > before else 'less'}"
    return f"{'+' if after > before else '-'}{number(abs(after / before - 1) * 100)} %"


def sparkline(values: Sequence[float | None]) -> str:
    """Return the values as a row of bars, each in relation to the largest; a dot for none."""
    known = [amount for amount in values if amount is not None]
    top = max(known, default=0.0)
    return "".join(
        "·" if amount is None else _BARS[round(amount / top * (len(_BARS) - 1)) if top else 0]
        for amount in values
    )


def verdict(comparison: Comparison) -> str:
    """Return the result in two sentences: what became of findings, and of what is counted."""
    return " ".join(f"{sentence}." for sentence in sentences(comparison) if sentence)


def sentences(comparison: Comparison) -> tuple[str, str]:
    """Return the two sentences without their full stops; the second may be empty."""
    found = comparison.findings
    parts = [
        f"{plural(len(entries), 'finding')} {word}"
        for state, word in STATES.items()
        if state not in {"same", "not_judged"} and (entries := getattr(found, state))
    ]
    nothing = "no finding is new, fixed, worse or better"
    if found.not_judged and not found.same and not any(map(_both, comparison.counters)):
        nothing = "nothing was recorded on both sides, so nothing is compared"
    first = joined(parts) or nothing
    told = joined(list(headlines(comparison.counters)))
    return f"{first[:1].upper()}{first[1:]}", f"{told[:1].upper()}{told[1:]}"


def _both(counter: Counter) -> bool:
    return counter.before is not None and counter.after is not None


def headlines(counters: Sequence[Counter]) -> Iterator[str]:
    """Yield the changes that tell most."""
    totals = {counter.name: counter for counter in counters if counter.of is None}
    told = [
        totals[name]
        for name in HEADLINES
        if name in totals and totals[name].state in {"better", "worse"}
    ]
    for one in told[:MAX_HEADLINES]:
        before, after = (value(one, amount) for amount in (one.before, one.after))
        yield f"{name(one)} {before} -> {after.removeprefix('>= ')} ({change(one)})"


def side(one: Side) -> str:
    """Return what there is to know about an input, behind its name."""
    counts = (
        (one.errors, "error"),
        (one.warnings, "warning"),
        (one.notes, "note"),
    )
    found = [plural(count, noun) for count, noun in counts if count]
    text = joined(found) if found else "nothing to fix"
    said = one.environment
    facts = [f"{key} {held}" for key in ("torch", "onednn") if (held := getattr(said, key))]
    if one.mode != "unknown":
        facts.insert(0, one.mode)
    return f"{text} ({', '.join(facts)})" if facts else text


def fact(one: Change) -> str:
    """Return ``pieces 24 -> 80``."""
    return f"{one.name.replace('_', ' ')} {_plain(one, one.before)} -> {_plain(one, one.after)}"


def _plain(one: Change, amount: float | str | None) -> str:
    if not isinstance(amount, int | float):
        return "-" if amount is None else amount
    if one.name == "share":
        return percent(amount)
    if one.name == "ms" or one.name.endswith("_ms"):
        return milliseconds(amount)
    return number(amount)


def difference(values: Sequence[str | None], names: Sequence[str]) -> str:
    """Return ``before: 2.6.0; after: 2.13.0``."""
    pairs = zip(names, values, strict=True)
    return "; ".join(f"{name}: {'unknown' if text is None else text}" for name, text in pairs)


def moved(counters: Sequence[Counter], *, every: bool) -> list[Counter]:
    """Return the counters that are worth a row: what has changed, with the parts that did it."""
    out: list[Counter] = []
    for total, parts in blocks(counters):
        known = [one for one in parts if _tells(one, total)]
        known.sort(key=lambda one: -abs((one.after or 0) - (one.before or 0)))
        shown = list(parts) if every else known[:MAX_PARTS]
        if total is not None and (every or shown or _changed(total)):
            out.append(total)
        out += shown
    return out


def blocks(counters: Sequence[Counter]) -> Iterator[tuple[Counter | None, list[Counter]]]:
    """Yield each total with its parts."""
    names = dict.fromkeys(counter.name for counter in counters)
    for wanted in names:
        here = [counter for counter in counters if counter.name == wanted]
        total = next((counter for counter in here if counter.of is None), None)
        yield total, [counter for counter in here if counter.of is not None]


def _tells(part: Counter, total: Counter | None) -> bool:
    if not _changed(part) or (total is not None and part.state == "unknown"):
        return False
    whole = max((total.before or 0, total.after or 0)) if total else 0
    moved_by = abs((part.after or 0) - (part.before or 0))
    return not (part.unit and whole and moved_by < SMALL * whole)


def _changed(one: Counter) -> bool:
    known = {amount for amount in one.values if amount is not None}
    return one.state != "same" or len(known) > 1


def label(one: Counter) -> str:
    """Return the name of a counter that stands alone, or of a part whose total is not there."""
    if one.of is None:
        return name(one)
    return f"{name(one)}: {one.of.removeprefix(_REGION)}"


def followers(entry: Compared, others: Sequence[Compared]) -> list[str]:
    """Return the codes of what followed from a finding and has become the same."""
    ids = {one.id for one in (entry.before, entry.after) if one is not None}
    return [other.code for other in others if title(other)[0].explained_by in ids]


def heads(entries: Sequence[Compared]) -> list[Compared]:
    """Return the findings that follow from no other one of these: one for each cause."""
    ids = {one.id for entry in entries for one in (entry.before, entry.after) if one is not None}
    return [entry for entry in entries if title(entry)[0].explained_by not in ids]


def title(entry: Compared) -> tuple[Finding, str]:
    """Return the finding to show of an entry, and the words of its severity and code."""
    finding = entry.after or entry.before
    assert finding is not None  # noqa: S101 -- one of the two is there
    severity = "note" if finding.severity.value == "none" else finding.severity.value
    return finding, f"{severity}[{entry.code}]"
