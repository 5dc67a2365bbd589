"""The Markdown format, for an issue: nothing in it mentions anybody, and it fits into a comment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from tracelens.render import Options, Renderer, _first, _live, _spent, _words
from tracelens.render._absent import missing
from tracelens.render._again import again
from tracelens.render._github import MAX_TEXT, code, details, fence, grid, paragraphs, text
from tracelens.render._prepare import prepare
from tracelens.render._strings import elide, one_line, one_row
from tracelens.render._table_words import about as about_table
from tracelens.render._tables import layout
from tracelens.report import Advice, Finding, Outcome, Report

__all__ = ["Markdown", "split"]

#: GitHub refuses a body of more than 65,536 characters.
MAX_CHARS = 60_000
#: Characters of a log line, and of a line to paste.
MAX_LINE, MAX_PASTE = 400, 2_000
#: Characters kept free for the note on what was left out.
MAX_NOTE = 600
#: Evidence lines per finding, rows of the summary and of other tables.
MAX_EVIDENCE, MAX_SUMMARY, MAX_ROWS = 12, 40, 30
#: Findings of a long page that are not folded.
MAX_OPEN = 10
#: Characters of a line of the bar that shows where the time went.
MAX_BAR = 78


class Markdown(Renderer):
    """GitHub-flavoured Markdown; whole sections are left out where it would grow too long."""

    name = "markdown"
    suffixes = (".md",)
    redacts = True

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Render the headline, the costliest findings that fit, and the rest folded."""
        _, report, replaced = prepare(report, options, cls)
        budget = options.max_chars or MAX_CHARS
        page = fitted(list(sections(report, replaced)), budget)
        if len(page) > budget:
            page = f"## tracelens: {_words.headline(report)}"[: budget - 1].rstrip() + "\n"
        return page


def split(report: Report, options: Options) -> list[str]:
    """Return the whole report in as many pages as it needs, in the order in which it is read.

    A section that is longer than a page takes its short form.
    """
    _, report, replaced = prepare(report, options, Markdown)
    budget = options.max_chars or MAX_CHARS
    pages: list[str] = [""]
    for section in sections(report, replaced):
        body = section.full if len(section.full) < budget - 1 else section.short
        if len(body) >= budget - 1:
            body = f"_{text(section.name, 40)}: longer than {budget:,} characters_\n"
        if pages[-1] and len(pages[-1]) + len(body) + 1 >= budget:
            pages.append("")
        pages[-1] += f"\n{body}" if pages[-1] else body
    return pages


class Section(NamedTuple):
    """A part of the page that is shown whole, in its short form, or left out."""

    name: str
    full: str
    short: str = ""
    #: 0 = always shown; the others from 1 on, the most valuable first, as long as there is room.
    rank: int = 0


def fitted(page: list[Section], budget: int) -> str:
    """Join as many sections as ``budget`` characters hold, the most valuable first.

    A section that does not fit takes its short form. Once one fits in neither, it is left out, and
    so are all that are worth less.
    """
    chosen = {i: section.full for i, section in enumerate(page) if not section.rank}
    left = budget - sum(len(text) + 1 for text in chosen.values()) - MAX_NOTE
    rest = sorted((i for i in range(len(page)) if page[i].rank), key=lambda i: page[i].rank)
    dropped: list[str] = []
    for i in rest:
        forms = [] if dropped else [page[i].full, page[i].short]
        fits = next((form for form in forms if form and len(form) < left), "")
        if fits:
            chosen[i] = fits
            left -= len(fits) + 1
        else:
            dropped.append(text(page[i].name, 40))
    if dropped:
        note = f"Left out to stay below {budget:,} characters: {_words.names(dropped, 8)}."
        chosen[len(page)] = f"_{note}_\n"
    return "\n".join(chosen[i] for i in sorted(chosen))


def sections(report: Report, replaced: int) -> Iterator[Section]:
    """Yield the page in the order in which it is read."""
    yield Section("the headline", headline(report) + "\n\n" + about(report, replaced))
    if report.shown:
        yield Section("the overview", overview(report), rank=1)
    rank = {id(finding): 2 + number for number, finding in enumerate(report.told)}
    long = len(report.told) > MAX_SUMMARY  # then worst first, whichever run it is of
    for run, findings in [(None, report.told)] if long else _words.by_run(report):
        heading = f"## {text(_words.run(run, findings))}\n\n" if run and findings else ""
        for finding in findings:
            place = rank[id(finding)]
            section = _of_finding(finding, report, place, folded=long and place >= 2 + MAX_OPEN)
            yield section._replace(full=heading + section.full, short=heading + section.short)
            heading = ""
    last = 2 + len(report.told)
    if report.folded:
        yield Section("the notes", notes(report), rank=last + 1)
    absent = not_judged(report)
    if absent:
        yield Section("what could not be judged", absent, rank=last)
    for name, rows in report.tables.items():
        if rows:
            title = about_table(name).title
            yield Section(f"the table {title}", table(title, rows), rank=last + 3)
    yield Section("the coverage", coverage(report), rank=last + 2)


def _of_finding(finding: Finding, report: Report, rank: int, *, folded: bool) -> Section:
    name, after = _words.identity(finding, report), symptoms(finding, report)
    unknown = _first.unknown_cost(finding, report)
    whole = full(finding, name, after, unknown)
    short = brief(finding, name, after, unknown)
    if folded:
        title = f"{finding.severity.value} {name}: {finding.title}".replace("`", "")
        whole = details(title, whole.partition("\n")[2].strip())
        short = details(title, short.partition("\n")[2].strip())
    return Section(name, whole, short, rank)


def start(report: Report) -> str:
    """Return what to do first, where the page is too long to show it; empty elsewhere."""
    if len(report.told) <= MAX_OPEN or not report.told[0].promising:
        return ""
    first = report.told[0].promising[0]
    pasted = first.setting or first.env or first.code or ""
    said = f"**Start here** {text(_words.advice(first), MAX_TEXT)}"
    if not pasted.strip():
        return said
    return f"{said}\n\n{fence(paste(pasted), 'sh' if pasted == first.env else 'python')}"


def headline(report: Report) -> str:
    """Return the first line: the result, and of what."""
    return f"## tracelens: {_words.headline(report)} in {code(_words.inputs(report.inputs))}"


def about(report: Report, replaced: int) -> str:
    """Return the lines below the headline: versions, coverage, redaction."""
    parts = [
        f"{text(name)} {text(value)}" for name, value in _words.environment(report.environment)
    ]
    lines = [f"**{text(_first.verdict(report), MAX_TEXT)}.**"] if len(report.told) > 1 else []
    lines += filter(None, [start(report)])
    if (found := _spent.by_run(report)).bars:
        lines.append(fence("\n".join(_spent.lines(found, MAX_BAR)), "text"))
    lines += [" · ".join(parts)] if parts else []
    if not report.shown:
        judged = _words.plural(_words.judged(report), "rule")
        watched = _words.watched(report)
        watched = f"; watched without a record: {code(watched)}" if watched else ""
        lines.append(f"{judged} looked at {text(_words.looked_at(report))}{watched}.")
    last = f"{_words.coverage(report.coverage)}. tracelens {text(report.tool.version)}."
    if replaced:
        last += f" {_words.replaced(replaced)}."
    return "\n\n".join([*lines, last]) + "\n"


def overview(report: Report) -> str:
    """Return the table of what is wrong, worst first."""
    rows = [
        [
            finding.severity.value,
            text(_words.identity(finding, report) if len(report.runs) > 1 else finding.code),
            text(finding.title),
            code(str(finding.where)) if finding.where else "",
            text(_words.costs(finding) or "unknown"),
        ]
        for finding in report.told[:MAX_SUMMARY]
    ]
    more = len(report.told) - MAX_SUMMARY
    tail = f"\nand {_words.plural(more, 'more finding')}\n" if more > 0 else ""
    return grid(["", "Rule", "What is wrong", "Where", "Cost"], rows) + tail


def symptoms(finding: Finding, report: Report) -> str:
    """Return the findings that follow from ``finding``, a line each; empty for none."""
    found = report.symptoms.get((finding.run, finding.id), ())
    lines = [f"- {text(one.code)} {text(one.title)}" for one in found[:MAX_SUMMARY]]
    more = len(found) - MAX_SUMMARY
    lines += [f"- and {more:,} more"] if more > 0 else []
    return "\n".join(["What belongs to it:", "", *lines]) if found else ""


def full(finding: Finding, name: str = "", after: str = "", unknown: str = "") -> str:
    """Return the section of a finding with its evidence folded."""
    if not finding.evidence:
        return brief(finding, name, after, unknown)
    shown = finding.evidence[:MAX_EVIDENCE]
    gutter = max(len(str(line.line)) for line in shown)
    lines = []
    for path, quotes in groupby(shown, key=lambda line: line.input):
        lines.append(elide(one_line(path), MAX_LINE))
        for quote in quotes:
            lines.append(f"{quote.line:>{gutter}} | {elide(one_row(quote.text), MAX_LINE)}")
            if quote.note:
                lines.append(f"{'':>{gutter}} | ^ {elide(one_line(quote.note), MAX_LINE)}")
    more = len(finding.evidence) - MAX_EVIDENCE
    if more > 0:
        lines.append(f"... {_words.plural(more, 'more line')}")
    title = f"Evidence ({_words.plural(len(finding.evidence), 'line')})"
    said = brief(finding, name, after, unknown)
    return said + "\n" + details(title, fence("\n".join(lines), "text"))


def brief(finding: Finding, name: str = "", after: str = "", unknown: str = "") -> str:
    """Return the section of a finding without evidence.

    Args:
        finding: What to tell.
        name: What it is called beside other runs; empty for its code.
        after: What belongs to it.
        unknown: What would show the cost, where it is not known.
    """
    name = name if "/" in name else finding.code
    facts = []
    if finding.where:
        facts.append(f"**Where** {code(str(finding.where))}")
    if _words.costs(finding):
        facts.append(f"**Cost** {text(_words.costs(finding))}")
    elif unknown:
        facts.append(f"**Cost** {text(unknown)}")
    if _words.seen(finding):
        facts.append(f"**Seen** {_words.seen(finding)}")
    if _words.unsure(finding):
        facts.append(_words.unsure(finding))
    parts = [f"### {finding.severity.value} {text(name)}: {text(finding.title)}"]
    parts += [" · ".join(facts)] if facts else []
    parts += [live(finding)] if _words.confirmation(finding.confirmation) else []
    parts += [paragraphs(finding.message)] if finding.message.strip() else []
    parts += [advice(item) for item in finding.promising]
    parts += [after] if after else []
    return "\n\n".join(parts) + "\n"


def live(finding: Finding) -> str:
    """Return what running it again showed."""
    said = finding.confirmation
    lines = [f"**Live run** {text(_words.confirmation(said), MAX_TEXT)}", ""]
    lines += [f"- {name}: {text(words, MAX_TEXT)}" for name, words in _live.facts(said)]
    return "\n".join(lines).rstrip()


def advice(item: Advice) -> str:
    """Return what to do, and below it what to paste."""
    said = f"**{item.label.capitalize()}** {text(_words.advice(item), MAX_TEXT)}"
    blocks = [
        fence(paste(value), language)
        for value, language in ((item.setting, "python"), (item.env, "sh"), (item.code, "python"))
        if value and value.strip()
    ]
    return "\n\n".join([said, *blocks])


def notes(report: Report) -> str:
    """Return the folded findings, one line each."""
    lines = [
        f"- {text(finding.code)} {text(finding.title)} ({text(_words.silenced(finding), MAX_TEXT)})"
        for finding in report.folded[:MAX_SUMMARY]
    ]
    more = len(report.folded) - MAX_SUMMARY
    lines += [f"- and {more:,} more"] if more > 0 else []
    return details(f"{_words.plural(len(report.folded), 'note')}, nothing to do", "\n".join(lines))


def not_judged(report: Report) -> str:
    """Return which rules had no evidence, with the command that shows it; empty for none."""
    absent, advised = missing(report), again(report)
    parts = []
    if advised is not None:
        parts.append(f"{text(advised.why)}\n\n" + fence(advised.command, "sh"))
    if absent.codes:
        rows = [
            [code(switch) if switch else "", text(_words.names(codes, 30))]
            for switch, codes in absent.by_switch.items()
        ]
        parts.append(grid(["Switch", "Rules"], rows))
    parts += [
        f"{text(verdict.code)} crashed: {text(verdict.reason)}"
        for verdict in report.verdicts
        if verdict.verdict is Outcome.CRASHED
    ]
    count = _words.plural(len(absent.codes), "rule")
    title = f"{count} had nothing to look at" if absent.codes else "What could not be judged"
    return details(title, "\n\n".join(parts)) if parts else ""


def coverage(report: Report) -> str:
    """Return what was read, and what of it was not understood."""
    rows = [
        [code(source.path), f"{source.lines:,}", text(kinds(source.kinds)), source.sha256[:16]]
        for source in report.inputs[:MAX_ROWS]
    ]
    parts = [grid(["Input", "Lines", "Records", "SHA-256"], rows)] if rows else []
    reasons = [f"- {text(reason, 600)}" for reason in _words.not_understood(report.coverage)]
    reasons += [f"- {code(s.path)} is cut off at its end" for s in report.inputs if s.truncated]
    return details("What was read", "\n\n".join([*parts, "\n".join(reasons)]))


def kinds(counts: dict[str, int]) -> str:
    """Return the records per log kind."""
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


def table(title: str, rows: list[dict[str, object]]) -> str:
    """Return a table of the report, folded."""
    laid = layout(rows, MAX_ROWS)
    heads = [text(column.heading) for column in laid.columns]
    body = [[text(cell.text, 120) for cell in row] for row in laid.rows]
    tail = f"\nand {_words.plural(laid.left_out, 'more row')}\n" if laid.left_out else ""
    numeric = [column.numeric for column in laid.columns]
    return details(title, grid(heads, body, numeric) + tail)


def paste(value: str) -> str:
    """Return code to paste as it is; only absurdly long lines lose their middle."""
    return "\n".join(elide(line, MAX_PASTE) for line in value.rstrip().splitlines()[:60])
