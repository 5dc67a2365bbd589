"""What a report says, in words that every format shares."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.report import (
    Advice,
    Confidence,
    Confirmation,
    Cost,
    Coverage,
    Environment,
    Finding,
    Input,
    Outcome,
    Report,
    Run,
    Severity,
)
from tracelens.report.model import FEW_TRIES
from tracelens.words import exact_percent as percent
from tracelens.words import joined, number, plural
from tracelens.words import length as milliseconds

__all__ = [
    "CLEAN",
    "advice",
    "by_run",
    "confirmation",
    "cost",
    "costs",
    "counts",
    "coverage",
    "environment",
    "for_all_threads",
    "headline",
    "identity",
    "inputs",
    "joined",
    "judged",
    "looked_at",
    "milliseconds",
    "names",
    "not_understood",
    "number",
    "percent",
    "plural",
    "replaced",
    "run",
    "seen",
    "silenced",
    "unsure",
    "watched",
]

#: Artifacts that are listed as watched: what fires rules, and is missing where all is well.
_ASKED_FOR = {"cudagraphs", "graph_breaks", "onednn_verbose", "perf_hints", "recompiles"}
#: Code units of a list in running text before "and N more".
MAX_NAMED = 5

_STATES = {
    "not_tried": "",
    "confirmed": "confirmed by running it again",
    "confirmed_structure": "confirmed in structure by running it again",
    "refuted": "refuted by running it again",
    "inconclusive": "run again without a clear result",
}
#: What has become of a cost that a log alone gave.
_OTHERWISE = {
    "harmless": "running it again showed no gain",
    "refuted": "refuted by running it again",
}


def costs(finding: Finding) -> str:
    """Return what a finding costs, and that a run has shown otherwise where one has."""
    said = cost(finding.cost)
    said_live = finding.confirmation
    shown = _OTHERWISE.get("harmless" if said_live.harmless else said_live.state)
    return f"{said}; {shown}" if said and shown else said


def cost(value: Cost | None) -> str:
    """Return what a finding costs and how that is known; empty when it is not."""
    if value is None or (value.ms is None and value.share is None):
        return ""
    parts = [] if value.ms is None else [milliseconds(value.ms)]
    if value.share is not None:
        parts.append(
            percent(value.share) + (f" of {' '.join(value.of.split())}" if value.of else "")
        )
    words = ", ".join(parts)
    if value.basis == "confirmed":
        lead = f"{milliseconds(value.ms)} of {value.of}" if value.ms and value.of else words
        share = f", {percent(value.share)}" if value.ms and value.of and value.share else ""
        return f"{lead}{share} (confirmed by running it again)"
    if value.basis == "estimated":
        return f"about {words} (estimated)"
    if value.basis == "upper_bound":
        return f"at most {words}"
    return f"{words} (measured)"


def advice(value: Advice) -> str:
    """Return what to do, in one line, and in which versions it holds."""
    words = " ".join(value.text.split())
    held = _versions(value)
    words = f"{words.removesuffix('.')} ({held})." if held else words
    if value.label == "fix" or value.tried < FEW_TRIES:
        return words
    tried = f"Followed in {value.tried} other programs"
    return f"{words} {tried}, it helped in {value.worked or 'none'}."


def for_all_threads(value: Advice) -> str:
    """Return what sets a variable apart from a setting of the compiler's.

    Since torch 2.12 a setting holds in the thread that makes it: ``torch/utils/_config_module.py``.
    """
    return ", for all threads" if (value.setting or "").startswith("torch._") else ""


def promised(value: Advice) -> str:
    """Return ``Fix: `` or ``Try: ``, and what to do."""
    return f"{value.label.capitalize()}: {advice(value)}"


def _versions(value: Advice) -> str:
    """Return ``torch 2.6 to 2.14``; a bare number is a torch version."""
    since, until = (_version(version) for version in (value.since, value.until))
    if since and until:
        return f"{since} to {until.removeprefix('torch ')}"
    return f"since {since}" if since else f"until {until}" if until else ""


def _version(value: str | None) -> str:
    words = " ".join((value or "").split())
    return f"torch {words}" if words[:1].isdigit() else words


def seen(finding: Finding) -> str:
    """Return ``4 times``; empty for once."""
    return f"{finding.count:,} times" if finding.count > 1 else ""


def unsure(finding: Finding) -> str:
    """Return ``medium confidence``; empty where the log leaves no doubt."""
    return "" if finding.confidence is Confidence.HIGH else f"{finding.confidence} confidence"


def confirmation(value: Confirmation) -> str:
    """Return what running it again showed; empty when nobody tried."""
    details = [
        f"{key.replace('_', ' ')}: {detail}"
        for key, detail in (value.model_extra or {}).items()
        if isinstance(detail, str | int | float) and detail not in {"", True, False}
    ]
    words = _STATES[value.state]
    if words and details:
        words += f" ({', '.join(details)})"
    said = value.note or value.reason.replace("_", " ")
    return f"{words}: {said}" if words and said else words


def silenced(finding: Finding) -> str:
    """Return why a folded finding is not shown with the others."""
    if finding.ignored:
        return f"ignored: {finding.ignored}"
    if finding.suppressed_by:
        return f"not reliable while {finding.suppressed_by} stands"
    return f"harmless here: {finding.reason}"


#: Log kinds that tell of the machine and of a run's settings, not of what was compiled.
_MACHINE_KINDS = {"cpu_info", "recording", "shared_libraries", "variables"}


#: The headline of a few lines of which only notes tell, and how many lines those are.
HARMLESS = "Only what is harmless was seen"
MAX_PASTED = 60
#: The headline of a report that says all is well; all others do not.
CLEAN = "Nothing to fix"


def headline(report: Report) -> str:
    """Return the result in a few words: ``1 error and 2 warnings``; each cause counts once."""
    if parts := counts(report.told):
        return parts
    if errors := report.tables.get("errors"):
        return f"No rule explains the {'error' if len(errors) == 1 else 'errors'}"
    if any(run.ended == "error" for run in report.runs):
        return "The program did not end well, and no rule says why"
    kinds = {kind for source in report.inputs for kind in source.kinds}
    if kinds and kinds <= _MACHINE_KINDS:
        return "Nothing compiled was seen"
    if not report.inputs and not report.verdicts:
        return "Nothing was read"
    return _clean(report)


def _clean(report: Report) -> str:
    """Return the result where there is nothing to do."""
    if not judged(report) and report.verdicts:
        return "Nothing could be judged"
    return HARMLESS if report.folded and _is_paste(report) else CLEAN


def _is_paste(report: Report) -> bool:
    """Tell whether so little was given that it shows a part of a run, whatever it is."""
    lines = sum(source.lines for source in report.inputs)
    whole = report.coverage.events or any("recording" in one.kinds for one in report.inputs)
    return lines <= MAX_PASTED and not whole


def counts(findings: Iterable[Finding]) -> str:
    """Return how many findings of each severity there are; empty for none."""
    nouns = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "info"}
    found = [finding.severity for finding in findings]
    numbers = {severity: found.count(severity) for severity in nouns}
    return joined(
        [plural(n, severity.value, nouns[severity]) for severity, n in numbers.items() if n]
    )


def identity(finding: Finding, report: Report) -> str:
    """Return the id of a finding, after its run where there are several."""
    return f"{finding.run}/{finding.id}" if len(report.runs) > 1 else finding.id


def by_run(
    report: Report, *, as_given: bool = False
) -> list[tuple[Run | None, tuple[Finding, ...]]]:
    """Return the findings to tell, run by run where there are several; else all, and no run.

    Unless runs are wanted ``as_given``, that one comes first which has the first of the findings,
    with which the report begins.
    """
    if len(report.runs) < 2:
        return [(None, report.told)]
    found: dict[str, list[Finding]] = {}
    for finding in report.told:
        found.setdefault(finding.run, []).append(finding)
    at = {name: number for number, name in enumerate(found)}
    last = len(at)
    runs = sorted(report.runs, key=lambda run: 0 if as_given else at.get(run.name, last))
    return [(run, tuple(found.get(run.name, ()))) for run in runs]


def run(value: Run, findings: Iterable[Finding]) -> str:
    """Return the heading of a run: its name, its inputs, and what was found in it."""
    return f"{value.name}: {counts(findings) or 'nothing to fix'} in {names(value.inputs, 3)}"


def names(values: Iterable[str], most: int = MAX_NAMED) -> str:
    """Return the first ``most`` values in a row, and how many more there are."""
    listed = list(values)
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more:,} more" if more > 0 else "")


def looked_at(report: Report) -> str:
    """Return what the rules had before them: records per log kind, largest first."""
    total: dict[str, int] = {}
    for source in report.inputs:
        for kind, count in source.kinds.items():
            total[kind] = total.get(kind, 0) + count
    ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    events = f"{plural(report.coverage.events, 'trace event')}" if report.coverage.events else ""
    ranked = [item for item in ranked if not events or item[0] != "chrome_trace"]
    parts = [f"{count:,} {kind}" for kind, count in ranked]
    if len(parts) > 6:
        parts = [*parts[:5], f"{len(parts) - 5} more kinds of"]
    one = len(ranked) == 1 and ranked[0][1] == 1
    said = f"{joined(parts)} {'record' if one else 'records'}" if parts else ""
    return joined([text for text in (said, events) if text]) or "no records"


def watched(report: Report) -> str:
    """Return what was watched in every run and has no records; empty where nothing is known.

    Of all artifacts, those that a user asks for.
    """
    common = set.intersection(*(set(run.watched) for run in report.runs)) if report.runs else set()
    shown = {kind for source in report.inputs for kind in source.kinds}
    return names(sorted((common & _ASKED_FOR) - shown))


def judged(report: Report) -> int:
    """Return how many rules had evidence to look at."""
    answers = {Outcome.FIRED, Outcome.QUIET, Outcome.IGNORED}
    return sum(verdict.verdict in answers for verdict in report.verdicts)


def coverage(value: Coverage) -> str:
    """Return how much of the input was understood, in one sentence without a full stop."""
    ours = value.understood_lines + value.known_lines + value.unread_lines
    parts = []
    if value.lines or not value.events:
        share = f", {percent(value.share)} understood" if ours else ""
        parts.append(plural(value.lines, "line") + share)
    if value.events:
        read = value.understood_events or 0
        parts.append(
            f"{plural(value.events, 'trace event')}, {percent(read / value.events)} understood"
        )
    program = value.program_lines
    tail = f"; {plural(program, 'line')} from the program itself" if program and ours else ""
    return "; ".join(parts) + tail


def not_understood(value: Coverage) -> list[str]:
    """Return what kept the share below 100 %, one phrase for each reason."""
    out = []
    if value.known_lines:
        sites = names((f"{site.site} ({site.count:,})" for site in value.known), 3)
        out.append(f"{plural(value.known_lines, 'line')} that no grammar reads yet: {sites}")
    if value.unread_lines:
        first: dict[str, int] = {}
        for text in value.unread:
            first[text.kind] = min(text.first_line, first.get(text.kind, text.first_line))
        refused = names((f"{kind}, first at line {line}" for kind, line in first.items()), 3)
        out.append(f"{plural(value.unread_lines, 'line')} that a grammar refused: {refused}")
    return [*out, *value.notes]


def environment(value: Environment) -> list[tuple[str, str]]:
    """Return what the logs say about machine and software, as (name, value)."""
    labels = {"onednn": "oneDNN", "isa": "ISA", "cpu": "CPU"}
    said = value.model_dump(mode="json")
    return [
        (labels.get(key, key.replace("_", " ")), str(item))
        for key, item in said.items()
        if item not in (None, "")
    ]


def replaced(count: int) -> str:
    """Return how many names were replaced."""
    what = plural(count, "mention of a name, path or secret", "mentions of names, paths or secrets")
    return f"{what} replaced"


def inputs(sources: Iterable[Input]) -> str:
    """Return the names of the inputs; those of settings and machine come last."""
    ranked = sorted(sources, key=lambda source: set(source.kinds) <= _MACHINE_KINDS)
    return names((source.path for source in ranked), 3) or "no input"
