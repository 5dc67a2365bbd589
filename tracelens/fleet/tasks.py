"""What is asked of whoever reads: one input, or a run of one input with what the rules say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from tracelens.evidence import Evidence
from tracelens.judging import judge
from tracelens.plugins import manifest
from tracelens.plugins.ahead import fetch
from tracelens.report import Input, Report
from tracelens.source import Reading
from tracelens.source.places import lying

__all__ = ["Done", "Question", "Task", "do", "is_foreign"]

#: The places of inputs hold for a process, so that only one thread of it reads at a time.
_READING = threading.Lock()
#: Seconds to wait for it.
PATIENCE = 24 * 3600.0


class Question(msgspec.Struct, frozen=True):
    """What is the same for all inputs of one analysis."""

    #: Codes of the rules to ask.
    codes: frozenset[str]
    #: Codes, prefixes or names whose findings are kept as ignored.
    ignore: Mapping[str, str] | Collection[str] = ()
    #: The log kind that all text is.
    kind: str | None = None
    recorded_with: Collection[str] = ()

    def judged(
        self, evidence: Evidence, inputs: Collection[Input], name: str, jobs: int = 1
    ) -> Report:
        """Return what the rules say of one run; ``jobs`` processes may share the work."""
        rules = [rule for rule in manifest.current().rules if rule.code in self.codes]
        return judge(
            evidence,
            [*inputs],
            rules=rules,
            ignore=self.ignore,
            name=name,
            recorded_with=self.recorded_with,
            jobs=jobs,
        )


class Task(msgspec.Struct, frozen=True):
    """Read one input."""

    path: str
    question: Question
    #: Where inputs lie that do not lie where their names say, from another folder or machine.
    places: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: Whether it is a run of its own, and the rules are to be asked.
    alone: bool = False
    #: Processes that may share it.
    jobs: int = 1


class Done(NamedTuple):
    """What became of a task: the report of a run, else what was read."""

    inputs: tuple[Input, ...]
    evidence: Evidence | None
    report: Report | None


def do(task: Task, progress: Callable[[int], None] | None = None) -> Done:
    """Read the input of ``task``, and ask the rules where it is a run.

    Raises:
        SourceError: It cannot be read.
    """
    with _alone(), lying(task.places):
        codes = task.question.codes
        ahead = (lambda part: fetch(part, codes)) if task.alone else None
        reading = Reading(task.question.kind, task.jobs, progress, ahead)
        evidence, source = reading.file(task.path)
        if not task.alone or is_foreign(evidence):
            return Done((source,), evidence, None)
        return Done((source,), None, task.question.judged(evidence, [source], "", task.jobs))


def is_foreign(evidence: Evidence) -> bool:
    """Tell whether nothing in the inputs of a run is anything that we know."""
    return not (evidence.kinds or evidence.known or evidence.unread)


@contextmanager
def _alone() -> Iterator[None]:
    if not _READING.acquire(timeout=PATIENCE):
        raise RuntimeError("another thread reads for ever")
    try:
        yield
    finally:
        _READING.release()
