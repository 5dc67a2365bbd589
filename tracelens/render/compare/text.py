"""A comparison on a terminal: the verdict first, then findings, then what is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracelens.render import Options
from tracelens.render._strings import elide, one_line, width, wrap
from tracelens.render._words import milliseconds, number, plural
from tracelens.render._words import replaced as replaced_words
from tracelens.render.compare import _words
from tracelens.render.compare._prepare import prepare
from tracelens.report.compare import Compared, Comparison, Counter, Mode

__all__ = ["render"]

#: Findings of one state that are told; the others are counted.
MAX_ENTRIES = 10
#: Facts of a finding that changed; searches with another winner.
MAX_CHANGES, MAX_WINNERS = 5, 8
#: Cells of a value, of a change, and of a name at least.
CELLS, CHANGE, NAME = 10, 20, 24
_SGR = {"worse": "1;31", "new": "1;31", "fixed": "1;32", "better": "1;32", "bold": "1"}


def render(comparison: Comparison, options: Options) -> str:
    """Return the comparison for a terminal."""
    drawn, replaced = prepare(comparison, options)
    page = _Page(drawn, options)
    lines = list(page.lines())
    if replaced:
        lines += wrap(f"{replaced_words(replaced)} (--no-redact shows them).", page.width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


class _Page:
    """The lines of one comparison, at one width."""

    def __init__(self, comparison: Comparison, options: Options) -> None:
        self.comparison = comparison
        self.options = options
        self.width = max(options.width, 60)
        self.names = [one.name for one in comparison.runs]

    def lines(self) -> Iterator[str]:
        yield from (self.paint("bold", line) for line in wrap(self.verdict(), self.width))
        yield ""
        yield from self.sides()
        yield from self.cautions()
        for state, word in _words.STATES.items():
            yield from self.state(word, getattr(self.comparison.findings, state))
        yield from self.modes()
        yield from self.counters()
        yield from self.winners()

    def verdict(self) -> str:
        return one_line(_words.verdict(self.comparison))

    def paint(self, style: str, text: str) -> str:
        code = _SGR.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.options.color and code and text else text

    def wrapped(self, first: str, text: str, indent: int) -> Iterator[str]:
        lead = first.ljust(indent)
        for number_, line in enumerate(wrap(one_line(text), self.width - indent)):
            yield (lead if number_ == 0 else " " * indent) + line

    def sides(self) -> Iterator[str]:
        """Yield the inputs, each with what was found in it."""
        room = min(max(map(width, self.names)), 24)
        for one in self.comparison.runs:
            path = "" if one.name == one.path else f"{one_line(one.path)}: "
            lead = f"  {elide(one.name, room).ljust(room)}  "
            yield from self.wrapped(lead, f"{path}{_words.side(one)}", len(lead))
        yield ""

    def cautions(self) -> Iterator[str]:
        """Yield what makes the inputs less comparable."""
        for one in self.comparison.differs:
            values = _words.difference(one.values, self.names)
            yield from self.wrapped("caution: ", f"{one.says} ({values})", 9)
        if self.comparison.differs:
            yield ""

    def state(self, word: str, entries: Sequence[Compared]) -> Iterator[str]:
        """Yield the findings of which the same has become."""
        if not entries:
            return
        if word == "same" and not self.options.verbose:
            yield from (f"{plural(len(entries), 'finding')} as before (-v lists them).", "")
            return
        heads = list(entries) if self.options.verbose else _words.heads(entries)
        most = len(heads) if self.options.verbose else MAX_ENTRIES
        for entry in heads[:most]:
            yield from self.entry(word, entry)
            if not self.options.verbose and (codes := _words.followers(entry, entries)):
                yield from self.wrapped("", f"and with it {', '.join(codes)}", 13)
        if len(heads) > most:
            yield f"{' ' * 9}and {len(heads) - most} more (-v lists them)"
        yield ""

    def entry(self, word: str, entry: Compared) -> Iterator[str]:
        finding, tag = _words.title(entry)
        lead = f"{word:<8} " if width(word) < 9 else f"{word} "
        title = wrap(f"{tag} {one_line(finding.title)}", self.width - len(lead))
        yield self.paint(word, lead) + title[0]
        yield from (" " * len(lead) + line for line in title[1:])
        if finding.where is not None:
            yield f"{' ' * len(lead)}--> {one_line(str(finding.where))}"
        told = [_words.fact(one) for one in entry.changes[:MAX_CHANGES]]
        if told or entry.why:
            yield from self.wrapped("", entry.why or ", ".join(told), len(lead) + 4)

    def modes(self) -> Iterator[str]:
        """Yield the table of eager and compiled runs."""
        rows = self.comparison.modes
        if not rows:
            return
        yield self.paint("bold", f"Eager and compiled: {rows[0].what}")
        skewed = any(row.time.is_skewed for row in rows)
        heads = ("", "mean +- std", *(["median"] if skewed else []), "min", "max", "speed-up")
        grid = [heads, *(_mode(row, skewed=skewed) for row in rows)]
        widths = [max(width(line[i]) for line in grid) for i in range(len(heads))]
        for line in grid:
            cells = [text.rjust(room) for text, room in zip(line, widths, strict=True)]
            yield f"  {line[0].ljust(widths[0])}  {'  '.join(cells[1:])}"
        yield ""

    def counters(self) -> Iterator[str]:
        """Yield what is counted: before and after of two, the whole row of several."""
        rows = _words.moved(self.comparison.counters, every=self.options.verbose)
        totals = [one for one in self.comparison.counters if one.of is None]
        same = sum(one.state == "same" and one not in rows for one in totals)
        if rows:
            several = len(self.names) > 2
            yield from self.trend(rows) if several else self.pair(rows)
        if same:
            lead = "and " if rows else ""
            yield f"  {lead}{plural(same, 'counter')} {'has' if same == 1 else 'have'} not changed"
        if rows or same:
            yield ""

    def pair(self, rows: Sequence[Counter]) -> Iterator[str]:
        room = self.width - 2 - 2 * (CELLS + 2) - CHANGE - 2
        heads = f"  {'':<{room}}  {'before':>{CELLS}}  {'after':>{CELLS}}  change"
        yield self.paint("bold", heads)
        for one in rows:
            values = [_words.value(one, amount) for amount in (one.before, one.after)]
            texts = "  ".join(text.rjust(CELLS) for text in values)
            how = self.paint(one.state, _words.change(one))
            yield f"  {elide(_label(one, rows), room):<{room}}  {texts}  {how}"
            if (found := _words.medians(one)) is not None:
                *texts_, ratio = found
                texts = "  ".join(text.rjust(CELLS) for text in texts_)
                yield f"  {'  the median of it':<{room}}  {texts}  {ratio}"

    def trend(self, rows: Sequence[Counter]) -> Iterator[str]:
        """Yield first and last, with everything between them as a row of bars."""
        count = max(len(self.names), len("trend"))
        room = max(self.width - 2 - 2 * (CELLS + 2) - CHANGE - 2 - count - 2, NAME)
        heads = f"  {'':<{room}}  {'first':>{CELLS}}  {'last':>{CELLS}}  "
        yield self.paint("bold", f"{heads}{'trend'.ljust(count)}  change")
        for one in rows:
            values = [_words.value(one, amount) for amount in (one.before, one.after)]
            texts = "  ".join(text.rjust(CELLS) for text in values)
            how = self.paint(one.state, _words.change(one))
            bars = _words.sparkline(one.values).ljust(count)
            yield f"  {elide(_label(one, rows), room):<{room}}  {texts}  {bars}  {how}"

    def winners(self) -> Iterator[str]:
        """Yield the searches that chose something else."""
        found = self.comparison.winners
        if not found:
            return
        yield self.paint("bold", "Searches with another winner")
        most = len(found) if self.options.verbose else MAX_WINNERS
        for one in found[:most]:
            pairs = zip(one.values, one.ms, strict=True)
            texts = [f"{kernel or 'none'}{_in_ms(ms)}" for kernel, ms in pairs]
            yield from self.wrapped(f"  {one_line(one.name)}: ", " -> ".join(texts), 4)
        if len(found) > most:
            yield f"  and {len(found) - most} more (-v lists them)"
        yield ""


def _label(one: Counter, rows: Sequence[Counter]) -> str:
    alone = one.of is None or all(row.of is not None for row in rows if row.name == one.name)
    return one_line(_words.label(one)) if alone else f"  {one_line(one.of or '')}"


def _in_ms(ms: float | None) -> str:
    return "" if ms is None else f" ({milliseconds(ms)})"


def _mode(row: Mode, *, skewed: bool) -> tuple[str, ...]:
    time = row.time
    middle = "-" if time.median is None else milliseconds(time.median)
    error = "" if row.error is None else f", error {number(row.error)}"
    return (
        f"{row.side} ({row.mode})",
        _words.spread(time),
        *([middle] if skewed else []),
        "-" if time.min is None else milliseconds(time.min),
        "-" if time.max is None else milliseconds(time.max),
        ("1" if row.speedup is None else f"{number(row.speedup)} x") + error,
    )
