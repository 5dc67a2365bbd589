"""The prefix of torch's log records, and how long each compilation took by their clocks."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.evidence import Evidence, Place, Seen, Times
from tracelens.instances import alike
from tracelens.late import late
from tracelens.logs import Joined, Log, Record
from tracelens.remembered import of_reading

__all__ = ["CompileSpan", "Site", "TorchLog", "read_site"]

Bracketed = Annotated[str, BeforeValidator(lambda text: text.strip("[] "))]


class TorchLog(Log):
    """Every record that ``TORCH_LOGS`` makes torch print."""

    name = "torch_log"
    switch = 'TORCH_LOGS="+dynamo,+inductor"'


#: The id of a compilation as most have it, behind a place; and what stands for each.
_NUMBERED = late(r"\] \[(\d+/\d+(?:_\d+)?)\]", re.ASCII)
_ANY_ID = "0/0"
#: What Dynamo and Inductor were called before they became parts of torch.
_BEFORE = {
    "Torchdynamo": "torch._dynamo",
    "torchdynamo": "torch._dynamo",
    "torchinductor": "torch._inductor",
}


def _moved(logger: str) -> str:
    first, dot, rest = logger.partition(".")
    return f"{_BEFORE.get(first, first)}{dot}{rest}"


class Site(Record):
    """Where in torch a record was written, for which compilation, under which artifact."""

    #: The file, from the first ``torch`` directory on.
    path: str = ""
    #: ``0/1``: frame and recompilation; empty outside a compilation.
    id: Bracketed = ""
    artifact: Bracketed = ""
    #: torch 2.1: the logger's name; its last part is the artifact when it begins with ``__``.
    logger: str = ""

    @property
    def frame(self) -> str:
        """The compile id without the attempt: ``0/0_1`` is a second attempt at ``0/0``."""
        return sys.intern(self.id.partition("_")[0])  # every record of a compilation has it

    @property
    def is_torch(self) -> bool:
        """Whether torch wrote the record; other programs use the same prefix format."""
        parts = self.path.replace("\\", "/").split("/")
        return bool(self.artifact or self.logger or self.id) or "torch" in parts

    @property
    def module(self) -> str:
        """The path of the module, with slashes, also where only a logger's name is known."""
        return self.path.replace("\\", "/") or self.logger.replace(".", "/")

    @property
    def label(self) -> str:
        """How the site is called in the report: the file and the artifact, without line numbers."""
        place = self.path.replace("\\", "/") or self.logger
        return f"{place} [{self.artifact}]" if self.artifact else place


class CompileSpan(Joined):
    """How long a compile id was busy, from the clocks of its first and its last record.

    A lower bound of the compile time: the first record of a compilation is not its beginning.
    """

    frame: str
    writer: str
    seconds: float

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[CompileSpan]]:
        """Make one record per compile id and writer."""
        for (name, writer, frame), (first, last, line) in evidence.processes.spans.items():
            times = Times()
            times.add((last - first) * 1e3)
            place = Place(name, line, writer, frame, first)
            record = cls(frame=frame, writer=writer, seconds=last - first)
            yield Seen(record, 1, [place], "", times)


@of_reading
@lru_cache(maxsize=20_000)
def read_site(text: str) -> Site:
    """Read a prefix's stable part; a site that the grammar refuses is known by its text alone.

    Places are few and compilations many: a place is read once, with another id.
    """
    if (numbered := _NUMBERED.search(text)) is None:
        return read_plainly(text)
    site = read_plainly(f"{text[: numbered.start(1)]}{_ANY_ID}{text[numbered.end(1) :]}")
    return alike(site, {"id": numbered[1]}) if site.id == _ANY_ID else read_plainly(text)


@lru_cache(maxsize=2_000)
def read_plainly(text: str) -> Site:
    """Return what the grammar makes of a prefix's stable part."""
    try:
        site = grammars.load(TorchLog.name, __name__).parse(text)[0]
    except grammars.Unreadable:
        return Site(path=text)
    if not isinstance(site, Site):
        return Site(path=text)
    if site.logger:
        logger = _moved(site.logger.partition(":")[0])
        stem, _, last = logger.rpartition(".")
        if last.startswith("__"):
            return site.model_copy(update={"logger": stem, "artifact": last})
        return site.model_copy(update={"logger": logger})
    return site
