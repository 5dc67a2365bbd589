"""What holds of any input, however broken."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FrameType

from tracelens.engine import analyze
from tracelens.errors import SourceError
from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer
from tracelens.report import Report

#: Seconds of CPU that an input may take: a hundred times what one takes.
LIMIT_S = 30
#: How a report is written, one after the other.
WAYS = (Options(), Options(verbose=True, redact=True))
#: What a terminal obeys, or what turns the text round.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class TooSlowError(Exception):
    """An input took more than ``LIMIT_S``."""


@cache
def formats() -> tuple[type[Renderer], ...]:
    return tuple(discover("renderers", Renderer))


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """End what takes too much of the processor, whatever else the machine does."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def hold(data: bytes, file: Path, *, render: Sequence[Options] = ()) -> str:
    """Read an input, ask every rule, save the report, and write it in every format these ways.

    Returns:
        Whether it was ``read``, or ``refused`` as holding nothing that is known.

    Raises:
        AssertionError: Something is wrong with what came of it.
        Exception: Whatever an input must not be able to raise.
    """
    file.write_bytes(data)
    with limited():
        try:
            report = analyze(str(file))
        except SourceError:
            return "refused"
        crashed = [
            f"{one.code}: {one.reason}" for one in report.verdicts if one.verdict == "crashed"
        ]
        assert not crashed, crashed
        saved = report.to_json()
        assert Report.model_validate_json(saved).to_json() == saved, "not the same once saved"
        written(report, render)
    return "read"


def written(report: Report, ways: Sequence[Options]) -> None:
    """Write a report in every format, and look for what a reader's program would obey."""
    for cls in formats():
        for options in ways:
            text = cls.render(report, options)
            found = OBEYED.search(text)
            assert not found, f"{cls.name}: {found.group()!r} at {found.start()}"
