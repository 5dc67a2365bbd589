"""The terminal format: what is wrong, where, what it costs and what to set, on the first screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

from tracelens.render import Options, Renderer, _brief, _first, _live, _spent, _words
from tracelens.render._absent import missing
from tracelens.render._again import again
from tracelens.render._prepare import prepare
from tracelens.render._strings import elide, one_line, one_row, width, wrap
from tracelens.render._table_words import about
from tracelens.render._tables import Layout, layout
from tracelens.report import Advice, EvidenceLine, Finding, Outcome, Report

__all__ = ["Text"]

#: Findings told in full; the others get one line each.
MAX_FULL = 12
#: Findings in a line each behind them; the others are counted by cause.
MAX_BRIEF = 20
#: Lines of findings from which on the first of them is out of sight where the text ends.
SCREEN = 60
#: Evidence lines per finding.
MAX_EVIDENCE = 4
#: Findings that are listed under the one that they follow from.
MAX_SYMPTOMS = 8
#: Cells for the end of a log line that is too long: a time in milliseconds.
TAIL = 10
#: Cells of a place: beyond the width, so that a path stays whole and can be clicked.
MAX_PLACE = 200
#: The one summary that nobody gets who has not asked for it.
ASKED_FOR = "explore"
#: Its columns that are shown however narrow the terminal is.
SETTING_COLUMNS = 5
#: Rows per table.
MAX_ROWS = 15

_SGR = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "note": "1",
    "bold": "1",
    "dim": "2",
    "place": "34",
    "fix": "1;32",
}


class Text(Renderer):
    """What ``tracelens analyze run.log`` prints."""

    name = "text"
    suffixes = (".txt",)

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Render findings, then notes, then what could not be judged, then the coverage."""
        _, report, replaced = prepare(report, options, cls)
        page = _Page(report, options)
        lines = list(page.lines())
        if replaced:
            lines += wrap(f"{_words.replaced(replaced)} (--no-redact shows them).", page.width)
        return "\n".join(line.rstrip() for line in lines) + "\n"


class _Page:
    """The lines of one report, at one width."""

    def __init__(self, report: Report, options: Options) -> None:
        self.report = report
        self.options = options
        self.width = max(options.width, 40)
        self._symptoms = report.symptoms

    def lines(self) -> Iterator[str]:
        """Yield the page."""
        if not self.report.shown:
            yield from self.result()
            yield ""
            yield from self.errors()
        yield from self.first()
        told = list(self.by_run())
        yield from told
        if self.report.folded:
            yield from self.folded()
            yield ""
        yield from self.tables() if self.options.verbose else self.table(ASKED_FOR)
        yield from self.crashed()
        if self.report.shown:
            yield from self.result()
        if len(told) > SCREEN:
            yield from self.start_with()
        yield from self.coverage()
        yield from self.not_judged()

    def by_run(self) -> Iterator[str]:
        """Yield the findings run by run; the worst of all runs first where they are many."""
        report, verbose = self.report, self.options.verbose
        if len(report.runs) > 1 and len(report.told) > MAX_FULL and not verbose:
            lead = f"The worst of {_words.plural(len(report.runs), 'run')} (-v goes run by run):"
            yield self.paint("bold", lead)
            yield ""
            yield from self.findings(report.told)
            return
        for run, findings in _words.by_run(report, as_given=verbose):
            if run is not None and findings:
                yield self.paint("bold", one_line(_words.run(run, findings)))
                yield ""
            yield from self.findings(findings)

    def first(self) -> Iterator[str]:
        """Yield what is wrong in a sentence, and where the time went."""
        told, found = self.report.told, _spent.by_run(self.report)
        says = len(told) > 1 or _first.is_mild(self.report)
        if says:
            sentence = f"{one_line(_first.verdict(self.report))}."
            yield from (self.paint("bold", line) for line in wrap(sentence, self.width))
        if len(told) > MAX_FULL:  # its first screen is all that many will read
            yield from chain.from_iterable(map(self.advice, told[0].promising[:1]))
        yield from map(one_row, _spent.lines(found, self.width))
        if found.bars or says:
            yield ""

    def findings(self, findings: Sequence[Finding]) -> Iterator[str]:
        """Yield what is wrong with one run: in full, and what is beyond that in a line each."""
        full = MAX_FULL if not self.options.verbose else len(findings)
        for finding in findings[:full]:
            yield from self.finding(finding)
            yield ""
        if brief := findings[full:]:
            yield f"{_words.plural(len(brief), 'more finding')} (-v tells all):"
            told = brief if self.options.verbose else brief[:MAX_BRIEF]
            yield from map(self.brief, told)
            if rest := brief[len(told) :]:
                yield from self.wrapped("", _brief.by_cause(rest), 2)
            yield ""

    def paint(self, style: str, text: str) -> str:
        code = _SGR.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.options.color and code and text else text

    def link(self, name: str, shown: str) -> str:
        """Return ``shown`` as a link to a file or a rule's page, where the terminal makes links."""
        address = self.options.link(name)
        return f"\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\" if address else shown

    def wrapped(self, first: str, text: str, indent: int, style: str = "") -> Iterator[str]:
        """Yield ``first`` and ``text`` behind it, wrapped, all lines indented alike."""
        lead = first.ljust(indent)
        for number, line in enumerate(wrap(text, self.width - indent)):
            yield (self.paint(style, lead) if number == 0 else " " * indent) + line

    def finding(self, finding: Finding) -> Iterator[str]:
        word = finding.severity.value
        tag = f"{word}[{self.name(finding)}]"
        title = wrap(one_line(finding.title), self.width - len(tag) - 1)
        lead = self.link(finding.code, self.paint(word, tag))
        yield f"{lead} {self.paint('bold', title[0])}"
        for line in title[1:]:
            yield " " * (len(tag) + 1) + self.paint("bold", line)
        if finding.where is not None:
            place = elide(one_line(str(finding.where)), MAX_PLACE)
            yield f"  {self.paint('place', '-->')} {self.link(finding.where.file, place)}"
        yield from self.facts(finding)
        if finding.message:
            yield ""
            yield from self.wrapped("", finding.message.strip(), 2)
        if finding.evidence:
            yield ""
            yield from self.evidence(finding)
        if finding.promising:
            yield ""
        yield from chain.from_iterable(map(self.advice, finding.promising))
        yield from self.symptoms(finding)

    def name(self, finding: Finding) -> str:
        """Return the code of a finding; its run and id where there are several runs."""
        several = len(self.report.runs) > 1
        return _words.identity(finding, self.report) if several else finding.code

    def symptoms(self, finding: Finding) -> Iterator[str]:
        """Yield what follows from a finding, a line each."""
        found = self._symptoms.get((finding.run, finding.id), ())
        most = len(found) if self.options.verbose else MAX_SYMPTOMS
        if found:
            yield ""
            yield f"  {self.paint('bold', 'what belongs to it:')}"
        for symptom in found[:most]:
            yield from self.wrapped(f"    {symptom.code} ", one_line(symptom.title), 11)
        if len(found) > most:
            yield f"    and {len(found) - most} more (-v lists them)"

    def facts(self, finding: Finding) -> Iterator[str]:
        """Yield what it costs, how often it was seen, and what a second run said."""
        cost = _words.costs(finding) or _first.unknown_cost(finding, self.report)
        seen = _words.seen(finding)
        rest = ", ".join(filter(None, (seen and f"seen {seen}", _words.unsure(finding))))
        if cost and rest and width(cost) + width(rest) + 10 <= self.width:
            cost, rest = f"{cost}; {rest}", ""
        for label, text in (("cost", cost), ("note", rest)):
            if text:
                yield from self.wrapped(f"  {label}: ", text, 8, "bold")
        confirmed = _words.confirmation(finding.confirmation)
        if confirmed:
            yield from self.wrapped("  live: ", confirmed, 8, "bold")
            told = _live.facts if self.options.verbose else _live.brief
            for name, words in told(finding.confirmation):
                yield from self.wrapped(" " * 8 + f"{name}: ", one_line(words), 10 + len(name))

    def evidence(self, finding: Finding) -> Iterator[str]:
        most = len(finding.evidence) if self.options.verbose else MAX_EVIDENCE
        shown = finding.evidence[:most]
        gutter = max(len(str(line.line)) for line in shown)
        for path, lines in groupby(shown, key=lambda line: line.input):
            yield "  " + self.paint("dim", elide(one_line(path), self.width - 2))
            for line in lines:
                yield from self.quote(line, gutter)
        if len(finding.evidence) > most:
            rest = _words.plural(len(finding.evidence) - most, "more line")
            yield " " * (gutter + 3) + self.paint("dim", f"... {rest} (-v shows them)")

    def quote(self, line: EvidenceLine, gutter: int) -> Iterator[str]:
        room = self.width - gutter - 5
        number, bar = self.paint("dim", str(line.line).rjust(gutter)), self.paint("dim", "|")
        yield f"  {number} {bar} {elide(one_row(line.text), room, TAIL)}"
        if line.note:
            for row, note in enumerate(wrap(one_line(line.note), room - 2)):
                mark = "^" if row == 0 else " "
                yield f"  {' ' * gutter} {bar} {self.paint('bold', f'{mark} {note}')}"

    def advice(self, advice: Advice) -> Iterator[str]:
        said = advice.label
        yield from self.wrapped(f"  {said}: ", _words.advice(advice), 7, "fix")
        forms = (
            ("", advice.setting),
            (f"or in the environment{_words.for_all_threads(advice)}:", advice.env),
            ("in code:", advice.code),
        )
        told = False
        for lead, value in forms:
            if not value or not value.strip():
                continue
            if told:
                yield f"       {self.paint('dim', lead)}"
            # What is pasted stays in one piece, however wide.
            yield from (" " * 9 + line for line in value.rstrip().splitlines())
            told = True

    def brief(self, finding: Finding) -> str:
        tag = f"{finding.severity.value}[{self.name(finding)}]"
        said = _brief.line(finding, self.width - len(tag) - 3)
        return f"  {self.link(finding.code, self.paint(finding.severity.value, tag))} {said}"

    def start_with(self) -> Iterator[str]:
        """Yield the first finding once more, where the reader of a long page is."""
        first = _first.to_fix(self.report.told)
        tag = f"{first.severity.value}[{self.name(first)}]"
        where = f" --> {one_line(str(first.where))}" if first.where else ""
        yield from self.wrapped("first: ", f"{tag} {one_line(first.title)}{where}", 7, "bold")
        yield from chain.from_iterable(map(self.advice, first.promising[:1]))

    def folded(self) -> Iterator[str]:
        folded = self.report.folded
        yield f"{_words.plural(len(folded), 'note')}, nothing to do:"
        most = len(folded) if self.options.verbose else MAX_FULL
        groups, left_out = _brief.notes(folded, most, self.name)
        for titles, reason in groups:
            yield from (f"  {elide(title, self.width - 2)}" for title in titles)
            yield from self.wrapped("", reason, 9)
        if left_out:
            yield f"  and {left_out} more (-v lists them)"

    def errors(self) -> Iterator[str]:
        """Yield the exceptions that the log shows, where no rule said anything about them."""
        for row in self.report.tables.get("errors", [])[:MAX_ROWS]:
            said = ": ".join(filter(None, (row["error"], row["message"])))
            yield from self.wrapped("", one_line(said), 2)
            if row.get("file"):
                yield from self.wrapped("", one_line(f"at {row['file']}:{row['line']}"), 4)
            yield ""

    def tables(self) -> Iterator[str]:
        """Yield what the logs say of the machine, and summaries with what matters most of each."""
        said = _words.environment(self.report.environment)
        if said and any(self.report.tables.values()):
            yield self.paint("bold", "Environment")
            for name, value in said:
                yield from self.wrapped("", one_line(f"{name}: {value}"), 2)
            yield ""
        for name in self.report.tables:
            yield from self.table(name)

    def table(self, name: str) -> Iterator[str]:
        """Yield one summary."""
        rows = self.report.tables.get(name)
        if rows:
            known = about(name)
            yield self.paint("bold", elide(one_line(known.title), self.width))
            if name == ASKED_FOR:
                yield from self.settings(rows)
            else:
                yield from _grid(layout(rows, MAX_ROWS, known.brief), self.width)
            yield ""

    def settings(self, rows: list[dict[str, Any]]) -> Iterator[str]:
        """Yield what each setting brought, in what they differ, and below it what is to be said."""
        keys = [
            key
            for key in about(ASKED_FOR).brief
            if len({row.get(key) for row in rows} - {None}) > 1
        ]
        while len(keys) > SETTING_COLUMNS and _cells(layout(rows, len(rows), keys)) > self.width:
            keys.pop()  # a setting's name, and that of all that helps, stay whole
        yield from _grid(layout(rows, len(rows), keys), self.width)
        notes: dict[str, list[str]] = {}
        for row in rows:
            if row.get("note"):
                notes.setdefault(one_line(str(row["note"])), []).append(str(row.get("setting")))
        for note, names in notes.items():
            lines = wrap(f"{one_line(', '.join(names))}: {note}", self.width - 4)
            yield from (f"{'    ' if at else '  '}{line}" for at, line in enumerate(lines))

    def not_judged(self) -> Iterator[str]:
        """Yield the one command that would show more, and on request who lacks what."""
        if (advised := again(self.report)) is not None:
            yield ""
            yield from self.wrapped("", advised.why, 0)
            yield f"  {one_line(advised.command)}"
        if self.options.verbose and (absent := missing(self.report)).codes:
            yield ""
            yield "Rules that had nothing to look at, by what they need:"
            for switch, codes in absent.by_switch.items():
                yield from self.wrapped(f"  {switch or 'no switch'}: ", " ".join(codes), 4)

    def crashed(self) -> Iterator[str]:
        """Yield the rules that failed, which is their fault or ours."""
        crashed = [v for v in self.report.verdicts if v.verdict is Outcome.CRASHED]
        for verdict in crashed:
            reason = f"{verdict.code} {verdict.name} crashed: {verdict.reason}"
            yield from self.wrapped("", one_line(reason), 0)
        if crashed:
            yield ""

    def result(self) -> Iterator[str]:
        """Yield the sum of the findings, and for a clean log what was looked at."""
        report = self.report
        text = f"{_words.headline(report)} in {_words.inputs(report.inputs)}"
        if len(report.runs) > 1:
            text += f" ({_words.plural(len(report.runs), 'run')})"
        if not report.shown:
            judged = _words.plural(_words.judged(report), "rule")
            text += f": {judged} looked at {_words.looked_at(report)}"
            watched = _words.watched(report)
            text += f"; watched without a record: {watched}" if watched else ""
        yield from self.wrapped("", f"{text}.", 0)

    def coverage(self) -> Iterator[str]:
        """Yield how much of the input was understood, and what was not."""
        yield from self.wrapped("", f"{_words.coverage(self.report.coverage)}.", 0)
        for reason in _words.not_understood(self.report.coverage):
            yield from self.wrapped("  - ", reason, 4)
        for source in self.report.inputs:
            if source.truncated:
                yield from self.wrapped("  - ", f"{source.path} is cut off at its end", 4)


def _cells(table: Layout) -> int:
    """Return the cells that a table takes when nothing in it is shortened."""
    grid = [[column.heading for column in table.columns]]
    grid += [[one_line(cell.text) for cell in row] for row in table.rows]
    return sum(2 + max(map(width, column)) for column in zip(*grid, strict=True))


def _grid(table: Layout, cells: int) -> Iterator[str]:
    """Yield a table in aligned columns; those at the right go where not all of them fit."""
    columns = table.columns[: max(1, cells // 10)]
    grid = [[column.heading for column in columns]]
    grid += [[one_line(cell.text) for cell in row[: len(columns)]] for row in table.rows]
    widths = [max(width(line[i]) for line in grid) for i in range(len(columns))]
    texts = [i for i, column in enumerate(columns) if not column.numeric] or [0]
    while sum(widths) + 2 * len(widths) > cells:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= 6:
            break
        widths[widest] -= 1
    for line in grid:
        fitted = [elide(text, room) for text, room in zip(line, widths, strict=True)]
        padded = [
            " " * (room - width(text)) + text
            if column.numeric
            else text + " " * (room - width(text))
            for text, room, column in zip(fitted, widths, columns, strict=True)
        ]
        yield elide("  " + "  ".join(padded).rstrip(), cells)
    if table.left_out:
        yield f"  and {_words.plural(table.left_out, 'more row')}"
