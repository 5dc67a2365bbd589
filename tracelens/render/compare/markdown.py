"""A comparison for an issue or a pull request: nothing in it is live, and it fits a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracelens.render import Options
from tracelens.render._github import code, details, escaped, grid, text
from tracelens.render._words import milliseconds, number, plural
from tracelens.render._words import replaced as replaced_words
from tracelens.render.compare import _words
from tracelens.render.compare._prepare import prepare
from tracelens.report.compare import Compared, Comparison, Counter

__all__ = ["render"]

#: GitHub refuses a body of more than 65,536 characters.
MAX_CHARS = 60_000
#: Findings of one state, facts of one finding, rows of a table.
MAX_ENTRIES, MAX_CHANGES, MAX_ROWS = 30, 6, 60
#: Columns of values; the middle of a longer trend is in the row of bars.
MAX_COLUMNS = 6
#: States that are told unfolded.
_OPEN = {"new", "worse", "fixed", "better"}


def render(comparison: Comparison, options: Options) -> str:
    """Return the comparison as GitHub-flavoured Markdown of at most so many characters."""
    drawn, replaced = prepare(comparison, options)
    budget = options.max_chars or MAX_CHARS
    parts = list(_parts(drawn, replaced))
    while len("\n".join(parts)) > budget and len(parts) > 1:
        parts.pop()
    return "\n".join(parts)[: budget - 1].rstrip() + "\n"


def _parts(comparison: Comparison, replaced: int) -> Iterator[str]:
    names = [one.name for one in comparison.runs]
    yield f"## tracelens compare\n\n{escaped(_words.verdict(comparison))}\n"
    yield from _sides(comparison)
    if comparison.differs:
        lines = [
            f"> - {text(one.says, 400)} ({text(_words.difference(one.values, names), 400)})"
            for one in comparison.differs
        ]
        yield "\n".join(["> [!CAUTION]", *lines]) + "\n"
    yield from _findings(comparison)
    yield from _modes(comparison)
    yield from _counters(comparison, names)
    yield from _winners(comparison, names)
    if replaced:
        yield f"_{replaced_words(replaced)}._\n"


def _sides(comparison: Comparison) -> Iterator[str]:
    rows = [[text(one.name), code(one.path), text(_words.side(one))] for one in comparison.runs]
    yield grid(["", "input", "found in it"], rows)


def _findings(comparison: Comparison) -> Iterator[str]:
    for state, word in _words.STATES.items():
        entries = getattr(comparison.findings, state)
        if not entries:
            continue
        body = "\n".join(_entry(entry) for entry in entries[:MAX_ENTRIES])
        if len(entries) > MAX_ENTRIES:
            body += f"\n- and {len(entries) - MAX_ENTRIES} more"
        head = f"{word[:1].upper()}{word[1:]}: {plural(len(entries), 'finding')}"
        yield f"### {head}\n\n{body}\n" if state in _OPEN else details(head, body)


def _entry(entry: Compared) -> str:
    finding, tag = _words.title(entry)
    line = f"- {code(tag)} {text(finding.title)}"
    if finding.where is not None:
        line += f" at {code(str(finding.where))}"
    facts = [text(_words.fact(one)) for one in entry.changes[:MAX_CHANGES]]
    told = entry.why and text(entry.why)
    said = told or ", ".join(facts)
    return f"{line}: {said}" if said else line


def _modes(comparison: Comparison) -> Iterator[str]:
    if not comparison.modes:
        return
    rows = [
        [
            text(f"{one.side} ({one.mode})"),
            _words.spread(one.time),
            "-" if one.time.min is None else milliseconds(one.time.min),
            "-" if one.time.max is None else milliseconds(one.time.max),
            "1" if one.speedup is None else f"{number(one.speedup)} x",
            "-" if one.error is None else number(one.error),
        ]
        for one in comparison.modes
    ]
    heads = ["", "mean ± std", "min", "max", "speed-up", "error against eager"]
    if all(one.error is None for one in comparison.modes):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    numeric = [False, *[True] * (len(heads) - 1)]
    yield f"### Eager and compiled: {comparison.modes[0].what}\n\n{grid(heads, rows, numeric)}"


def _counters(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    rows = _words.moved(comparison.counters, every=False)[:MAX_ROWS]
    if not rows:
        return
    several = len(names) > 2
    columns = _columns(len(names))
    heads = ["", *(text(names[i]) for i in columns), *(["trend"] if several else []), "change"]
    cells = [[_label(one), *_cells(one, columns, several=several)] for one in rows]
    numeric = [False, *(True for _ in columns), *([False] if several else []), False]
    yield f"### What is counted\n\n{grid(heads, cells, numeric)}"


def _columns(count: int) -> list[int]:
    if count <= MAX_COLUMNS:
        return list(range(count))
    return [*range(MAX_COLUMNS - 1), count - 1]


def _cells(one: Counter, columns: Sequence[int], *, several: bool) -> list[str]:
    values = [text(_words.value(one, one.values[i])) for i in columns]
    trend = [_words.sparkline(one.values)] if several else []
    change = _words.change(one)
    return [*values, *trend, f"**{change}**" if one.state == "worse" else change]


def _label(one: Counter) -> str:
    return escaped(_words.name(one)) if one.of is None else f"&nbsp;&nbsp;{code(one.of)}"


def _winners(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    rows = [
        [code(one.name), *(code(kernel) if kernel else "-" for kernel in one.values)]
        for one in comparison.winners[:MAX_ROWS]
    ]
    if rows:
        body = grid(["search", *map(text, names)], rows)
        count = plural(len(comparison.winners), "search", "searches")
        yield details(f"{count} with another winner", body)
