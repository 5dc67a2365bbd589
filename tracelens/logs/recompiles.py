"""Why Dynamo compiled a function again: the guards of each compiled entry that did not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict

from tracelens.late import late
from tracelens.logs import HeadedLog, Record
from tracelens.logs._checks import (
    Aliasing,
    Check,
    Comment,
    Deallocated,
    Expression,
    GlobalState,
    IdentityCheck,
    KeysCheck,
    LengthCheck,
    RangeCheck,
    Relation,
    Source,
    TensorMismatch,
    TypeCheck,
    Unexplained,
    ValueCheck,
)
from tracelens.logs._stack import StackFrame
from tracelens.words import plain_names

if TYPE_CHECKING:
    from tracelens.evidence import Evidence, Seen

__all__ = [
    "Aliasing",
    "Check",
    "Comment",
    "Deallocated",
    "Expression",
    "GlobalState",
    "GuardFailure",
    "IdentityCheck",
    "KeysCheck",
    "LengthCheck",
    "LoneFailure",
    "LooseFailures",
    "RangeCheck",
    "Recompile",
    "Recompiles",
    "Relation",
    "Source",
    "StackFrame",
    "TensorMismatch",
    "TypeCheck",
    "Unexplained",
    "ValueCheck",
]

#: Rows of the report's table, and causes in one row.
MAX_ROWS = 200
MAX_CAUSES = 8
#: A compile id with longer numbers is not one.
MAX_DIGITS = 10
#: The line of torch 2.0 where several guards of an entry fail, and a text in its list.
_LISTED = late(
    r"\(['\"](?P<head>Recompiling function [^\n]{1,400}?)['\"], ['\"]triggered by the "
    r"following guard failures?: \[(?P<reasons>[^\n]+)\]['\"]\)$"
)
_QUOTED = late(r"\"([^\"\n]+)\"|'([^'\n]+)'(?=, |$)")
#: What the second line of a recompile begins with: the first one, which names it, was left out.
_TAIL = late(r"\s*triggered by the following guard failure")
_ENTRY = late(r"^ {0,8}- (\d{1,9})/(\d{1,9}):", re.MULTILINE)


class Recompiles(HeadedLog):
    """``[__recompiles]`` and ``[__recompiles_verbose]``: one record per recompile."""

    name = "recompiles"
    switch = 'TORCH_LOGS="recompiles"'
    artifacts = frozenset({"__recompiles", "__recompiles_verbose"})
    cuts = re.compile(r"\(?['\"]?Recompiling function ")
    opens = ("Recompiling function ",)
    opens_always = True
    continues = re.compile(r"\s*(?:$|- |triggered by the following guard|guard \d+ failures:)")

    @classmethod
    def mask(cls, text: str) -> str:
        """Set the reasons that the line of torch 2.0 lists below one another, as later ones are."""
        found = _LISTED.match(text)
        reasons = _QUOTED.findall(found["reasons"].replace("\\'", "'")) if found else []
        if not found or not reasons:
            return text
        told = "\n".join(f"    - {one or other}" for one, other in reasons)
        return f"{found['head']}\n    triggered by the following guard failure(s):\n{told}"

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the recompile; all of it stands in the one line of torch 2.0 that lists guards."""
        found = super().parse(text)
        if _TAIL.match(text):
            return (*found, *(_nameless(one) for one in found if isinstance(one, LooseFailures)))
        if not _LISTED.match(text):
            return found
        from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

        return tuple(moved(one, lambda _: 0) for one in found)

    @classmethod
    def frame_of(cls, text: str) -> str:
        """Return the id of the new entry: the next after those that did not fit."""
        entries = [match.groups() for match in _ENTRY.finditer(text)]
        newest = max((int(number) for _, number in entries), default=-1)
        return f"{entries[0][0]}/{newest + 1}" if entries else ""

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``recompiles``: per frame and function, how often and on which guards."""
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for place, seen in evidence.table(Recompile).events():
            record = seen.record
            if record.refused:
                continue
            frame = place.frame.partition("/")[0]
            key = (place.writer, frame, record.file, str(record.line))
            row = rows.setdefault(
                key,
                {
                    "frame": frame,
                    "function": record.function,
                    "file": record.file,
                    "line": record.line,
                    "count": 0,
                    "causes": [],
                },
            )
            row["count"] += 1
            cause = plain_names(str(record.newest.check)) if record.newest else ""
            if cause not in row["causes"] and len(row["causes"]) < MAX_CAUSES:
                row["causes"].append(cause)
        return {"recompiles": list(rows.values())[:MAX_ROWS]} if rows else {}


class GuardFailure(Record):
    """One compiled entry that did not fit, and the first guard of it that failed."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True
    )

    at: int = 0
    #: ``0/1``: the entry, by its compile id; empty up to torch 2.4.
    entry: str = ""
    #: None where torch gives no reason.
    check: Check | None = None
    comment: Comment | None = None
    hint: str = ""
    #: The user's stack where the guard was made, innermost last; torch 2.11 and later.
    stack: tuple[StackFrame, ...] = ()

    @property
    def number(self) -> int:
        """Which entry of its frame it is, 0 for the first; -1 where the log does not say."""
        number = self.entry.rpartition("/")[2].partition("_")[0]
        return int(number) if number.isdecimal() and len(number) < MAX_DIGITS else -1


#: The failure in the one line of torch 2.1.
LoneFailure = GuardFailure


class LooseFailures(Record):
    """Guards that failed, of a function that is not named: the first lines were not pasted."""

    at: int = 0
    failures: tuple[GuardFailure, ...] = ()


class Recompile(Record):
    """A function was compiled once more, because none of its entries fitted the call."""

    at: int = 0
    function: str
    #: Empty where it was left out of what was pasted.
    file: str = ""
    line: int = 0
    failures: tuple[GuardFailure, ...] = ()
    #: The function had hit its limit: torch prints this, and does not compile it.
    refused: bool = False

    def resolved(self, seen: Seen[Any], evidence: Evidence) -> Recompile:
        """Return it as refused where the warning about the limit is of the same compilation."""
        from tracelens.logs.recompile_limits import refused_at  # noqa: PLC0415 -- it reads this

        return self.model_copy(update={"refused": True}) if refused_at(seen, evidence) else self

    @property
    def has_scopes(self) -> bool:
        """Whether a local is printed with the dictionary that holds it, as up to torch 2.6.

        Of an object that is gone, every version prints it.
        """
        checks = (one.check for one in self.failures if not isinstance(one.check, Deallocated))
        return any(getattr(getattr(check, "source", None), "scope", "") == "L" for check in checks)

    @property
    def newest(self) -> GuardFailure | None:
        """The failure of the entry that was compiled last, whatever the order of the lines."""
        return max(self.failures, key=lambda failure: failure.number, default=None)


def _nameless(record: LooseFailures) -> Recompile:
    """Return failures whose function was left out as a recompile of a function without a name."""
    return Recompile(at=record.at, function="?", failures=record.failures)
