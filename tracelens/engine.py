"""Run the stages: read the inputs run by run, ask the rules about each, build the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from os import PathLike, fspath
from typing import TYPE_CHECKING

from tracelens.errors import PluginError, SourceError, TracelensError, UsageError, closest
from tracelens.evidence import Evidence
from tracelens.fleet import executor
from tracelens.fleet.gathering import Gathered, gathered
from tracelens.fleet.tasks import Question
from tracelens.judging import judge, matches
from tracelens.judging.watching import check_names
from tracelens.logs.recording import Recording
from tracelens.plugins import manifest
from tracelens.plugins.facts import RuleFacts
from tracelens.report import Input, Report
from tracelens.report.joining import called, joined
from tracelens.rules import Rule
from tracelens.source import groups
from tracelens.source.places import expand

if TYPE_CHECKING:
    from tracelens.report.compare import Comparison

__all__ = ["analyze", "choose", "compare", "judge", "select_rules"]

#: Inputs that the error names when none of them holds anything known.
MAX_NAMED = 3
#: Runs without anything that we know that are told apart where something was watched.
MAX_FOREIGN = 20


def analyze(
    *paths: str | PathLike[str],
    select: Collection[str] = (),
    ignore: Mapping[str, str] | Collection[str] = (),
    kind: str | None = None,
    jobs: int = 1,
    engine: str | None = None,
    scheduler: str | None = None,
    one_run: bool = False,
    runs: Mapping[str, Sequence[str | PathLike[str]] | str | PathLike[str]] | None = None,
    recorded_with: Collection[str] = (),
    progress: Callable[[int], None] | None = None,
    remark: Callable[[str], None] | None = None,
) -> Report:
    """Read ``paths`` and return what the rules say about them.

    The rules see one run at a time: the inputs of one process or of one job. Several inputs are of
    one run when they are of one recording, ranks of one job, or tell of the same process.

    Args:
        paths: Files, directories, globs, or ``-`` for standard input; ``.gz`` and ``.xz`` are
            recognised by content.
        select: Codes, code prefixes or names of the rules to ask; all when empty.
        ignore: Codes, prefixes or names whose findings are kept as ignored, with a reason each.
        kind: Read unmarked text as this log kind.
        jobs: Processes that may share the work.
        engine: Who reads: ``serial``, ``process`` or ``dask``; the report does not depend on it.
            Without one it is processes where ``jobs`` is more than 1.
        scheduler: The address of a Dask scheduler that you trust, as ``tcp://10.0.0.1:8786``.
        one_run: Take all inputs as of one run.
        runs: Runs by name, each with its files, directories or globs; they need not be in
            ``paths``.
        recorded_with: Artifacts that were on though the inputs need not show it, as
            ``graph_breaks`` or ``onednn_verbose``: none in the log then means that none happened.
        progress: Called with the number of bytes read since the last call.
        remark: Called with what went otherwise than asked for and changes no result.

    Raises:
        SourceError: An input cannot be read, or nothing in any of them is known.
        UsageError: ``select``, ``ignore``, ``kind`` or ``recorded_with`` names nothing that is
            installed, a file is in two of ``runs``, or the engine cannot be used.
        PluginError: An installed rule or log kind is broken.
    """
    codes = frozenset(rule.code for rule in choose(select))
    named = _named(runs or {})
    listed = expand(tuple(fspath(one) for one in paths)) if paths else []
    found = groups(listed, one_run=one_run, named=named)
    names = _names(named)
    watched = check_names(recorded_with) if recorded_with else frozenset[str]()
    question = Question(codes, ignore, kind, watched)
    with executor(engine, jobs, scheduler) as team:
        runs_read = gathered(found, question, team, progress)
        report = joined(list(_reports(runs_read, question, names, team.shares)), listed)
    if remark is not None:
        for said in team.remarks:
            remark(said)
    if (error := nothing_known(report, kind)) is not None:
        raise error
    return report


def compare(*inputs: str | PathLike[str] | Report) -> Comparison:
    """Compare two or more inputs: paths of logs or traces, or reports of :func:`analyze`.

    Args:
        inputs: The first is before, the last is after.

    Raises:
        UsageError: There are fewer than two.
        SourceError: An input cannot be read.
    """
    from tracelens.report.compare import compare as compared  # noqa: PLC0415 -- for those who ask

    if len(inputs) < 2:
        raise UsageError("nothing to compare with")
    reports = [one if isinstance(one, Report) else analyze(one) for one in inputs]
    given = zip(inputs, reports, strict=True)
    paths = [report.inputs[0].path if one is report else str(one) for one, report in given]
    return compared(reports, paths)


def _reports(
    found: Iterable[Gathered], question: Question, names: Iterator[str], jobs: int
) -> Iterator[Report]:
    """Yield the report of each run, the foreign inputs last."""
    others = _Foreign()
    told = False
    for run in found:
        if not run.name and run.is_foreign:
            others.add(run)
            continue
        told = True
        name = run.name or next(names)
        if run.report is not None:
            yield called(run.report, name)
        else:
            yield question.judged(run.evidence or Evidence(), run.inputs, name, jobs)
        del run  # what was read of it must not stay while the next one is read
    is_beside = told and not question.recorded_with
    for evidence, inputs in others.merged() if is_beside else others.runs:
        report = question.judged(evidence, inputs, "" if is_beside else next(names))
        yield report.model_copy(update={"runs": ()}) if is_beside else report


class _Foreign:
    """Inputs with nothing in them that we know: they come last, and take no number from a log.

    Beside a log they are no runs: a folder of a program holds its settings and results, too. What
    was watched has not happened in them, which makes them runs.
    """

    def __init__(self) -> None:
        #: The evidence of each, and its inputs.
        self.runs: list[tuple[Evidence, list[Input]]] = []

    def add(self, run: Gathered) -> None:
        """Take one; many are one run, since a folder of others' files would say a thing each."""
        self.runs.append((run.evidence or Evidence(), [*run.inputs]))
        if len(self.runs) > MAX_FOREIGN or len(self.runs[0][1]) > MAX_FOREIGN:
            self.runs = self.merged()

    def merged(self) -> list[tuple[Evidence, list[Input]]]:
        """Return all of them as one."""
        for evidence, more in self.runs[1:]:
            self.runs[0][0].merge(evidence)
            self.runs[0][1].extend(more)
        return self.runs[:1]


def _named(
    runs: Mapping[str, Sequence[str | PathLike[str]] | str | PathLike[str]],
) -> dict[str, list[str]]:
    """Return the files of the runs that the user has named."""
    out: dict[str, list[str]] = {}
    taken: dict[str, str] = {}
    for name, given in runs.items():
        every = (given,) if isinstance(given, str | PathLike) else given
        out[name] = expand(tuple(fspath(one) for one in every))
        for path in out[name]:
            if taken.setdefault(path, name) != name:
                raise UsageError(f"{path} is in two runs: {taken[path]} and {name}")
    return out


def _names(taken: Collection[str]) -> Iterator[str]:
    """Yield ``run1``, ``run2`` and so on, but for what the user calls a run."""
    return (name for number in count(1) if (name := f"run{number}") not in taken)


def select_rules(select: Collection[str] = ()) -> list[Rule]:
    """Return one instance of every rule whose code starts with, or whose name is, in ``select``."""
    return [rule.load() for rule in choose(select)]


def choose(select: Collection[str] = ()) -> Sequence[RuleFacts]:
    """Return what is known of the rules that :func:`select_rules` returns."""
    installed = manifest.current()
    rules = installed.rules
    for wanted in select:
        if not any(matches(rule, wanted) for rule in rules):
            if installed.broken:  # it may be in there
                raise installed.broken[0].error()
            known = [word for rule in rules for word in (rule.code, rule.name, rule.code[:3])]
            hint = closest(wanted, dict.fromkeys(known), "tracelens rules lists codes and names")
            raise UsageError(f"no rule matches {wanted!r}", hint=hint)
    return [rule for rule in rules if not select or any(matches(rule, s) for s in select)]


def nothing_known(report: Report, kind: str | None = None) -> TracelensError | None:
    """Return the error for inputs in which nothing at all was recognised; it says what they are.

    A part of a log is something, unless it is only said to be of a ``kind``.
    Where a pack is broken, that is the error: nobody knows what it would have read.
    """
    inputs = report.inputs
    if any(source.kinds.keys() - {Recording.name} for source in inputs) or report.coverage.known:
        return None
    told = any(finding.data.get("how") == "part" for finding in report.told)
    if (told and kind is None) or any(run.watched for run in report.runs):
        return None
    for pack in report.broken_packs:  # it may be what reads this log
        hint = "what it reads is not read: fix or uninstall it; tracelens packs says more"
        return PluginError(f"{pack.distribution}: {pack.what}", hint=hint)
    for unread in sorted(report.coverage.unread, key=lambda unread: unread.first_line)[:1]:
        message = f"{inputs[0].path}:{unread.first_line}: not {unread.kind}: {unread.reason}"
        return SourceError(message, hint="nothing else in the input comes from torch or oneDNN")
    from tracelens.source.looks_like import (  # noqa: PLC0415 -- costly, seldom needed
        UNRECOGNISED,
        look,
    )

    looks = [(source.path, look(source.path)) for source in inputs[:MAX_NAMED]]
    names = "; ".join(f"{path}: {found.what}" for path, found in looks)
    more = f" and {len(inputs) - MAX_NAMED} more" if len(inputs) > MAX_NAMED else ""
    path, found = looks[0]
    hint = found.hint.replace("FILE", path)
    if any(one.what == UNRECOGNISED for _, one in looks):
        return SourceError(f"{names}{more}", hint=hint)
    return SourceError(f"{names}{more}: nothing from torch or oneDNN in it", hint=hint)
