"""Tables of nvprof, CUDA's profiler before Nsight Systems, set in the terms of the latter."""

from __future__ import annotations

import re

from tracelens.late import late

__all__ = ["BEGINS", "CONTINUES", "spaced"]

#: The first line of a table, or the first row of the second one.
BEGINS = (
    r"==\d{1,10}== (?:API calls|Profiling result):| {2,12}API calls:  +\d{1,3}\.\d\d%  "
    r"| {0,24}(?:Type +)?Time ?\(%\) +Time +Calls +Avg +Min +Max +Name(?:\n|$)"
)
#: A head, and a row.
CONTINUES = (
    r" {0,24}(?:Type +)?Time ?\(%\) +Time +Calls +Avg |"
    r" {0,24}(?:GPU activities:  +)?\d{1,3}\.\d\d% +[\d.]{1,12}[mun]?s +\d"
)
_TITLE = late(r"==\d{1,10}== ")
_HEAD = late(r" {0,24}(?:Type +)?Time ?\(%\) +Time +Calls +Avg ")
_ROW = late(
    r" {0,24}(?:[A-Za-z ]{5,16}:  +)?(?P<share>\d{1,3}\.\d\d)% +(?P<total>[\d.]{1,12}[mun]?s)"
    r" +(?P<calls>\d{1,12}) +(?P<mean>[\d.]{1,12}[mun]?s) +(?P<least>[\d.]{1,12}[mun]?s)"
    r" +(?P<most>[\d.]{1,12}[mun]?s) +(?P<name>\S[^\n]*)"
)
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def spaced(text: str) -> str:
    """Return a table as Nsight Systems prints it, line by line; others as they are."""
    if not re.match(BEGINS, text):
        return text
    of_device = "== Profiling result:" in text or "[CUDA mem" in text
    lines = text.split("\n")
    headed = any(_HEAD.match(line) for line in lines)
    return "\n".join(_line(line, headed=headed, of_device=of_device) for line in lines)


def _line(line: str, *, headed: bool, of_device: bool) -> str:
    if _TITLE.match(line):
        return "** nvprof"
    if _HEAD.match(line):
        count = "Instances" if of_device else "Num Calls"
        return f"Time (%)  Total Time (ns)  {count}  Avg (ns)  Min (ns)  Max (ns)  Name"
    found = _ROW.match(line)
    if found is None:
        return line
    times = [_ns(found[which]) for which in ("mean", "least", "most")]
    times += [] if headed else ["0"]  # rows alone are taken for those with a deviation
    head = (found["share"], _ns(found["total"]), found["calls"])
    return "  ".join((*head, *times, " ".join(found["name"].split())))


def _ns(text: str) -> str:
    number = text.rstrip("smun")
    unit = text.removeprefix(number)
    try:
        return f"{float(number) * _UNITS[unit]:.0f}"
    except (ValueError, KeyError):
        return "0"
