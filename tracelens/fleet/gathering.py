"""Runs, one by one: what is to be read goes to an executor, and its answers are put together.

An input that is a run of its own is read and judged by one worker, so that only its report comes
back. The inputs of a job, its ranks for example, are read by several; their evidence is merged
here, in the order of the inputs, and judged as one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tracelens.evidence import Evidence
from tracelens.fleet import Executor
from tracelens.fleet.tasks import Done, Question, Task, do, is_foreign
from tracelens.plugins.ahead import fetch
from tracelens.report import Input, Report
from tracelens.source import Group, Merging, Spans, merged, of_one_process, size_of, spans_of
from tracelens.source.places import place_of

__all__ = ["Gathered", "gathered"]

#: Seconds after which somebody who reads an input is given up: for starting, and by its bytes.
STARTING, SLOWEST = 120.0, 50_000.0


class Gathered(NamedTuple):
    """One run: the report, or the evidence of a run that is not judged yet."""

    #: As the user calls it; empty for none.
    name: str
    inputs: tuple[Input, ...]
    evidence: Evidence | None
    report: Report | None

    @property
    def is_foreign(self) -> bool:
        """Whether nothing in its inputs is anything that we know."""
        return self.evidence is not None and is_foreign(self.evidence)


def gathered(
    found: Sequence[Group],
    question: Question,
    team: Executor,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Gathered]:
    """Read ``found`` with ``team``, and yield each run as soon as it is complete.

    Nothing of a run is held here while the next one is read.

    Args:
        found: What is read together.
        question: What the rules are asked.
        team: Who reads.
        progress: Called with the number of bytes read since the last call.

    Raises:
        SourceError: An input cannot be read.
        UsageError: The question names a log kind that there is not.
    """
    tasks, sent = _tasks(found, question, team)
    elsewhere = [tasks[number] for number in sent]
    largest = max((size_of(task.path) or 0 for task in elsewhere), default=0)
    with team.map(do, elsewhere, seconds=STARTING + largest / SLOWEST) as answers:
        results = (
            _counted(next(answers), progress) if number in sent else do(task, progress)
            for number, task in enumerate(tasks)
        )
        for group in found:
            if len(group.paths) == 1:
                yield Gathered(group.name, *next(results))
            elif len(group.parts) == 1:
                read = (_evidence(next(results)) for _ in group.paths)
                yield _together(group.name, read if team.here else _ahead(read, question.codes))
            else:
                yield from _apart(group, results)


def _tasks(
    found: Sequence[Group], question: Question, team: Executor
) -> tuple[list[Task], set[int]]:
    """Return what is to be done for each input, in order, and which of it goes to others."""
    sizes = [0 if team.here else size_of(path) or 0 for group in found for path in group.paths]
    # Only one that is alone: of several, each is read by somebody else.
    large = 0 if team.shares > 1 and len(sizes) == 1 else float("inf")
    tasks = [
        Task(
            path,
            question,
            places={} if team.here else place_of(path),
            alone=len(group.paths) == 1,
        )
        for group in found
        for path in group.paths
    ]
    tasks = [
        msgspec.structs.replace(task, jobs=team.shares) if size > large else task
        for task, size in zip(tasks, sizes, strict=True)
    ]
    # Standard input is only here.
    sent = {at for at, task in enumerate(tasks) if task.path != "-" and task.jobs == 1}
    return tasks, sent if not team.here and len(sent) >= team.least else set()


def _counted(done: Done, progress: Callable[[int], None] | None) -> Done:
    if progress is not None:
        progress(sum(source.bytes for source in done.inputs))
    return done


def _together(name: str, read: Iterator[tuple[Evidence, Input]]) -> Gathered:
    evidence, inputs = merged(read)
    return Gathered(name, inputs, evidence, None)


def _ahead(
    read: Iterator[tuple[Evidence, Input]], codes: Collection[str]
) -> Iterator[tuple[Evidence, Input]]:
    """Yield what is ``read``; what rules need is imported once it is known, others read on."""
    for number, one in enumerate(read):
        if number == 0:
            fetch(one[0], codes)
        yield one


def _evidence(done: Done) -> tuple[Evidence, Input]:
    assert done.evidence is not None  # noqa: S101 -- it was not to be judged
    return done.evidence, done.inputs[0]


def _apart(group: Group, results: Iterator[Done]) -> Iterator[Gathered]:
    """Yield the runs of a group of which only what was read tells what belongs together.

    The first part begins the first run whatever it tells, and is put together at once: of many
    ranks, all but the stragglers are in it.
    """
    at_first = {*group.parts[0]}
    begun = {group.parts[0][0]: Merging()}
    rest: dict[str, tuple[Evidence, Input]] = {}
    spans: dict[str, Spans] = {}
    for path in group.paths:
        one = _evidence(next(results))
        spans[path] = spans_of(one[0])
        if path in at_first:
            begun[group.parts[0][0]].add(*one)
        else:
            rest[path] = one
        del one  # what is put together must not stay besides
    for run in of_one_process(group, spans):
        yield _completed(group.name, begun.pop(run[0], Merging()), run, rest)


def _completed(
    name: str, merging: Merging, run: Sequence[str], rest: dict[str, tuple[Evidence, Input]]
) -> Gathered:
    """Return a run: what is put together already, and what the ``rest`` holds of it."""
    for path in run:
        if path in rest:
            merging.add(*rest.pop(path))
    evidence, inputs = merging.result
    return Gathered(name, inputs, evidence, None)
