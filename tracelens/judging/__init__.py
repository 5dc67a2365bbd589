"""Judge one run: ask the rules about what was read of it, and sum it up in a report."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tracelens import remembered
from tracelens.dynamo import phases
from tracelens.evidence import Evidence
from tracelens.judging import rank_logs
from tracelens.judging.alone import PASTED, answered
from tracelens.judging.fitting import fitted
from tracelens.judging.ownership import for_users
from tracelens.judging.suppression import suppressed
from tracelens.judging.verdicts import Judge
from tracelens.judging.watching import TRACE, Watched
from tracelens.logs.recording import ended, notes
from tracelens.plugins import manifest, packs
from tracelens.plugins.facts import RuleFacts
from tracelens.plugins.held import Held
from tracelens.report import (
    Coverage,
    Environment,
    Finding,
    Input,
    KnownSite,
    Outcome,
    Report,
    Run,
    Severity,
    Tool,
    UnreadText,
    Verdict,
)
from tracelens.report.joining import MAX_LISTED, share
from tracelens.report.stories import told_once
from tracelens.rules import Rule
from tracelens.version import __version__

__all__ = ["judge", "matches"]

#: Bytes of inputs from which on two processes may ask the rules.
MIN_SHARED = 16 << 20
#: The same from which on room is made by forgetting what reading remembers: of less, the next run
#: may have much in common with this one.
LARGE = 64 << 20

#: Log kinds that may hold generated code, and those that tell more of a kernel than its code does.
CODE = frozenset({"output_code", "torch_trace"})
ORIGINS = frozenset({"chrome_trace", "graph_code", "aot_graphs", "torch_trace"})


def judge(
    evidence: Evidence,
    inputs: Sequence[Input],
    *,
    rules: Iterable[Rule | RuleFacts] | None = None,
    ignore: Mapping[str, str] | Collection[str] = (),
    name: str = "run1",
    recorded_with: Collection[str] = (),
    jobs: int = 1,
) -> Report:
    """Ask the rules about the evidence of one run, and build its report.

    Args:
        evidence: All that was read of the run.
        inputs: What it was read from.
        rules: Those to ask; all when None.
        ignore: Codes, prefixes or names whose findings are kept as ignored, with a reason each.
        name: What the run is called.
        recorded_with: Artifacts that are known to have been on.
        jobs: Processes that may share the work.
    """
    size = sum(source.bytes for source in inputs)
    if size >= LARGE:
        remembered.forget()
    verdicts: list[Verdict] = []
    findings: list[Finding] = []
    held = Held(evidence)
    asked: dict[str, Rule] = {}
    watched = Watched(evidence, recorded_with)
    judging = Judge(held, evidence, watched)
    every = [
        (known, _facts(known)) for known in (manifest.current().rules if rules is None else rules)
    ]
    replaced = packs.replaced()  # by the log kinds of packs, which have read
    every.sort(key=lambda pair: bool(pair[1].distribution))
    pieces: list[Callable[[], Any]] = [
        *(partial(judging.answer, known, facts, asked) for known, facts in every),
        lambda: [*_said(evidence)],
        partial(_frames, held, evidence, large=size >= LARGE),
    ]
    *answers, said, compiled = _done(pieces, jobs if size >= MIN_SHARED else 1)
    if size >= LARGE:
        remembered.forget()
    for (known, facts), answer in zip(every, answers, strict=True):
        verdict, found = _unless_ignored(known, ignore, *answer)
        if found and facts.code not in asked:  # by a copy of this process
            asked[facts.code] = known.load() if isinstance(known, RuleFacts) else known
        verdicts.append(verdict)
        findings += found
    is_whole = bool(recorded_with)  # whoever knows what was on has not pasted a part
    if len(every) >= len(manifest.current().rules) and not _mutes(ignore, every) and not is_whole:
        verdicts, findings = answered(evidence, inputs, asked, verdicts, findings)
    foreign = {facts.code: facts.distribution for _, facts in every if facts.distribution}
    tellers = packs.tellers(asked, foreign)
    findings = [
        _of_run(finding, name)
        for finding in told_once(suppressed(findings, asked, foreign), tellers)
    ]
    machine = Environment(**_merged(about for about, _ in said))
    findings = fitted(for_users(findings, asked, evidence), machine.torch, evidence)
    tables = _merged(
        (
            *(shown for _, shown in said),
            compiled,
            phases.tables(evidence),
            rank_logs.tables(inputs),
        )
    )
    report = Report(
        tool=Tool(version=__version__),
        inputs=tuple(inputs),
        runs=(_run(name, inputs, findings, watched, evidence),),
        environment=machine,
        coverage=_coverage(evidence, inputs),
        verdicts=tuple(sorted(verdicts, key=lambda verdict: verdict.code)),
        findings=tuple(findings),
        tables={title: [row | {"run": name} for row in rows] for title, rows in tables.items()},
        broken_packs=packs.broken(
            evidence.faults, [*packs.faults(tellers, foreign), *replaced, *packs.replaced()]
        ),
    )
    held.let_go()
    return report


def _done(pieces: Sequence[Callable[[], Any]], jobs: int) -> list[Any]:
    """Return what each of ``pieces`` returns; what code of packs changes is seen here alone."""
    if jobs < 2 or packs.take_part():
        return [piece() for piece in pieces]
    from tracelens.judging import halves  # noqa: PLC0415 -- for large inputs

    return halves.done(pieces)


def _facts(known: Rule | RuleFacts) -> RuleFacts:
    return known if isinstance(known, RuleFacts) else RuleFacts.declared(type(known))


def _of_run(finding: Finding, name: str) -> Finding:
    """Return the finding with its run, and where it is harmless, with the reason."""
    update: dict[str, Any] = {"run": name}
    if finding.severity is Severity.NONE and not finding.harmless:
        update["harmless"] = finding.reason
    return finding.model_copy(update=update)


def _run(
    name: str,
    inputs: Sequence[Input],
    findings: Iterable[Finding],
    watched: Watched,
    evidence: Evidence,
) -> Run:
    """Return what there is to know about the run as such."""
    how = ended(evidence)
    writers = dict.fromkeys(writer for source in inputs for writer in source.writers)
    failed = any(finding.data.get("ended_program") for finding in findings)
    return Run(
        name=name,
        inputs=tuple(source.path for source in inputs),
        ranks=tuple(writers | dict.fromkeys(_traced(evidence))),
        watched=watched.names,
        ended="error" if failed or how not in {"", "well"} else "ok" if how else "unknown",
    )


def _frames(held: Held, evidence: Evidence, *, large: bool) -> Mapping[str, Any]:
    """Return the summary of what was compiled; the rules have been asked by then."""
    if large:
        remembered.forget()
    if not held.may_fill(manifest.current().frames) and not evidence.ticks:
        return {}
    from tracelens import frames  # noqa: PLC0415 -- joined from most log kinds

    found: Mapping[str, Any] = frames.tables(evidence)
    known = evidence.kinds.keys()
    if not known.isdisjoint(CODE) and not known.isdisjoint(ORIGINS):
        from tracelens.frames import kernel_origins  # noqa: PLC0415 -- of generated code only

        found = {**found, **kernel_origins.tables(evidence)}
    return found


def _said(evidence: Evidence) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield what log kinds say of the evidence as a whole: about the machine, and tables."""
    homes = {kind.__module__ for kind in evidence.types()}
    for log in manifest.current().logs:
        if log.name not in evidence.kinds and log.module not in homes:
            continue
        if log.sums_up:
            yield packs.summaries(log.load(), evidence)
        if log.summary:
            yield {}, importlib.import_module(log.summary).tables(evidence)


def _unless_ignored(
    rule: Rule | RuleFacts,
    ignore: Mapping[str, str] | Collection[str],
    verdict: Verdict,
    found: list[Finding],
) -> tuple[Verdict, list[Finding]]:
    """Return what a rule says, marked as ignored where it is."""
    reason = _ignored(rule, ignore)
    if reason is None or not found:
        return verdict, found
    marked = [finding.model_copy(update={"ignored": reason}) for finding in found]
    return verdict.model_copy(update={"verdict": Outcome.IGNORED, "reason": reason}), marked


def _ignored(rule: Rule | RuleFacts, ignore: Mapping[str, str] | Collection[str]) -> str | None:
    for wanted in ignore:
        if matches(rule, wanted):
            return ignore[wanted] if isinstance(ignore, Mapping) else "ignored on request"
    return None


def _mutes(
    ignore: Mapping[str, str] | Collection[str],
    rules: Iterable[tuple[Rule | RuleFacts, RuleFacts]],
) -> bool:
    return any(_ignored(one, ignore) is not None for one, facts in rules if facts.code == PASTED)


def _coverage(evidence: Evidence, inputs: Sequence[Input]) -> Coverage:
    lines = sum(source.lines for source in inputs)
    events = sum(source.events for source in inputs)
    known = sum(count for count, _ in evidence.known.values())
    ours = evidence.understood_lines + known + evidence.unread_lines
    sites = sorted(evidence.known.items(), key=lambda item: (-item[1][0], item[1][1]))
    return Coverage(
        lines=lines,
        understood_lines=evidence.understood_lines,
        known_lines=known,
        program_lines=max(0, lines - ours),
        unread_lines=evidence.unread_lines,
        share=share(evidence.understood_lines, known, evidence.unread_lines),
        events=events or None,
        understood_events=evidence.understood_events if events else None,
        known=tuple(
            KnownSite(
                site=site,
                count=count,
                first_line=first,
                text=evidence.examples.get(site, "").strip(),
            )
            for site, (count, first) in sites[:MAX_LISTED]
        ),
        unread=tuple(
            UnreadText(
                kind=unread.kind,
                text=unread.text[:500],
                count=unread.count,
                first_line=unread.first_line,
                reason=unread.reason,
            )
            for unread in evidence.unread[:MAX_LISTED]
        ),
        notes=(
            *evidence.notes,
            *notes(evidence),
            *_unread_ranks(evidence),
            *_unlike_caches(evidence),
        ),
    )


def _traced(evidence: Evidence) -> list[str]:
    """Return the ranks that traces of jobs of several are of, by number."""
    if TRACE not in evidence.kinds:
        return []
    from tracelens.logs._trace_header import TraceHeader  # noqa: PLC0415 -- of traces only

    headers = [seen.record for seen in evidence.table(TraceHeader)]
    several = {
        head.rank for head in headers if head.rank is not None and (head.world_size or 0) > 1
    }
    return [f"rank{number}" for number in sorted(several)]


def _unread_ranks(evidence: Evidence) -> Iterator[str]:
    """Yield which ranks of a job have no trace among the inputs, if any."""
    if TRACE in evidence.kinds:
        from tracelens.logs._trace_header import TraceHeader  # noqa: PLC0415 -- of traces only
        from tracelens.traces.ranks import missing  # noqa: PLC0415

        unread = missing([seen.record for seen in evidence.table(TraceHeader)])
        if unread:
            yield f"traces: {unread}"


def _unlike_caches(evidence: Evidence) -> Iterator[str]:
    """Yield a note where ranks were told different things by their caches."""
    if "torch_trace" in evidence.kinds:
        from tracelens.summaries._ranks import unlike  # noqa: PLC0415 -- of structured logs only

        yield from unlike(evidence)


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if value is not None and out.get(key) is None:
                out[key] = value
    return out


def matches(rule: Rule | RuleFacts, wanted: str) -> bool:
    """Tell whether ``wanted`` is the rule's name, or how its code begins."""
    return rule.code.startswith(wanted.upper()) or rule.name == wanted
