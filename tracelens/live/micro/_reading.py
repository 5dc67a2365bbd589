"""Evidence, read again by the grammars: what a finding rests on, as typed records."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens import grammars
from tracelens.logs import Log, Record
from tracelens.logs import onednn_verbose as verbose
from tracelens.logs.onednn_verbose import (
    MemoryDescriptor,
    OnednnVerbose,
    Primitive,
    PrimitiveCreate,
    PrimitiveExec,
    Problem,
)
from tracelens.report import Finding, Report

__all__ = ["primitives", "records", "worst"]

#: The arguments whose data types a report's table of primitives lists, in order.
_ARGUMENTS = {
    1: ("src",),
    3: ("src", "wei", "dst"),
    4: ("src", "wei", "bia", "dst"),
}


def records(log: type[Log], text: str) -> tuple[Record, ...]:
    """Return what ``log``'s grammar reads in ``text``; nothing where it refuses."""
    try:
        return log.parse(text)
    except (grammars.Unreadable, RecursionError):
        return ()


def primitives(finding: Finding) -> Iterator[Primitive]:
    """Yield the primitives of the finding's data that were executed, then those that were made."""
    found = [
        record
        for text in finding.data.get("descriptors", ())
        if text.startswith(OnednnVerbose.marks)
        for record in records(OnednnVerbose, text)
    ]
    for kind in (PrimitiveExec, PrimitiveCreate):
        yield from (record for record in found if type(record) is kind)


def worst(report: Report) -> Primitive | None:
    """Return the primitive that took the most time, from the report's table of primitives."""
    for row in report.tables.get("primitives", ()):
        types = str(row["dtypes"]).split(":")
        if row["primitive"] not in {"matmul", "inner_product", "convolution"}:
            continue
        names = _ARGUMENTS.get(len(types), ())
        one = types * 3 if len(names) == 1 else types
        names = _ARGUMENTS[3] if len(names) == 1 else names
        problem = _problem(str(row["shape"]))
        if problem is None or not names:
            continue
        mds = tuple(
            MemoryDescriptor(arg=arg, dtype=dtype, kind="blocked")
            for arg, dtype in zip(names, one, strict=True)
        )
        return PrimitiveExec(
            engine="cpu",
            primitive=row["primitive"],
            impl=row["impl"],
            prop_kind=row["prop_kind"],
            mds=mds,
            problem=problem,
        )
    return None


def _problem(text: str) -> Problem | None:
    try:
        found = grammars.load(OnednnVerbose.name, verbose.__name__).parse(text, "problem")
    except grammars.Unreadable:
        return None
    return found if isinstance(found, Problem) else None
