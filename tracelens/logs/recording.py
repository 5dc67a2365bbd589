"""What ``tracelens run`` notes in the log that it records: facts, and what it left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tracelens.logs import Log, Record
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["Asked", "CalledWith", "LeftOut", "Recorded", "Recording", "ended", "notes"]


class Recording(Log):
    """Comment lines of our own, each by itself."""

    name = "recording"
    switch = "tracelens run -- CMD"
    marks = ("# tracelens: ",)

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return what the program's processes told."""
        facts = {seen.record.name: seen.record.value for seen in evidence.table(Recorded)}
        threads = facts.get("threads", "")
        return {
            "torch": facts.get("torch"),
            "threads": int(threads) if is_whole(threads) else None,
            "device": facts.get("device"),
        }


class Recorded(Record):
    """A fact about the run: torch's version, threads, accelerator, a switch, what is missing."""

    name: str
    value: str


class Asked(Record):
    """A place that asked for something to be compiled, in a program that ended well."""

    #: A function's or a class's name; that of a class of torch with its module.
    called: str
    #: Something where the module's own method was used, else it was ``torch.compile``.
    method: str = ""
    #: What it was given as ``mode``.
    mode: str = ""
    file: str
    line: int
    #: Calls from outside compiled code.
    calls: int
    #: Compilations in all processes of the run, of whatever.
    compilations: int


class CalledWith(Record):
    """How the first dimension of a compiled callable's first tensor changed from call to call."""

    file: str
    line: int
    sizes: tuple[int, ...] = ()


class LeftOut(Record):
    """Lines that a long log does not hold: they were between its head and its tail."""

    lines: int
    bytes: int


def notes(evidence: Evidence) -> tuple[str, ...]:
    """Return what was asked for and could not be recorded."""
    told = (seen.record for seen in evidence.table(Recorded))
    return tuple(dict.fromkeys(one.value for one in told if one.name == "note"))


def ended(evidence: Evidence) -> str:
    """Return how the program ended, in words, ``well`` among them; empty where nobody noted it."""
    told = (seen.record for seen in evidence.table(Recorded))
    return next((one.value for one in told if one.name == "ended"), "")
