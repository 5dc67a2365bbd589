"""One side of a comparison: what names it, what it reads, and what timing two of them showed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeVar

from tracelens.live.micro import DRIVER
from tracelens.live.runs import RunFailed
from tracelens.live.statistics import Block, Judgement
from tracelens.live.workload import Side

__all__ = [
    "OutOfTime",
    "Timing",
    "caches_in",
    "driven",
    "input_of",
    "key_of",
    "or_raise",
    "under",
]


class OutOfTime(Exception):
    """The time that the user allows does not suffice."""


@dataclass(frozen=True)
class Timing:
    """What the timed runs of two sides showed."""

    judgement: Judgement
    of: Literal["step", "run"]
    blocks: tuple[Block, ...]
    #: How crowded the machine was.
    environment: Mapping[str, str]
    #: Whether more blocks might have given an answer, and the time did not suffice for them.
    unfinished: bool = False


def driven(side: Side) -> bool:
    """Return whether a side is run by our own driver, which knows its results."""
    return str(DRIVER) in side.workload.argv[:2]


def input_of(side: Side) -> IO[bytes]:
    """Open what a side reads as standard input, anew for each run."""
    return (side.workload.stdin or Path(os.devnull)).open("rb")


def under(side: Side) -> str:
    """Return what was changed, in words."""
    return side.knob.text


def key_of(side: Side) -> str:
    """Name a side: equal sides have equal names."""
    workload, knob = side.workload, side.knob
    parts = (workload.argv, str(workload.cwd), dict(workload.env), str(workload.stdin))
    return json.dumps([parts, knob.settings], sort_keys=True)


_Found = TypeVar("_Found")


def or_raise(found: _Found | RunFailed) -> _Found:
    """Return what was found, or raise what kept it from being found."""
    if isinstance(found, RunFailed):
        raise found
    return found


def caches_in(folder: Path) -> dict[str, str]:
    """Return the variables that put every compile cache into ``folder``."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }
