"""What the entries of a report of ``torch.export.draft_export`` say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.dynamo import user_code
from tracelens.words import and_more

__all__ = ["said"]

#: Where torch's own frames begin, and a place of the program's, the outermost first.
_FRAMEWORK = "And the following framework stacktrace"
_PLACE = re.compile(
    r"File (?P<file>[^\n]{1,400}?), lineno (?P<line>\d{1,7}), in (?P<function>\w{1,120})"
    r"(?::?\s+`(?P<code>[^`\n]{1,300})`)?"
)
_VALUE = re.compile(r"unable to evaluate the value of `(?P<value>[^`\n]{1,200})`")
_GUARD = re.compile(r"this guard was added: (?P<guard>[^\n]{1,200}?)(?:, where|\.?\n|$)")
_OPERATOR = re.compile(r"torch\.ops\.(?P<operator>[\w.:]{1,120}) (?P<how>is missing|has) a fake")
#: Entries that are told one by one.
SHOWN = 3


def said(entries: Iterable[str]) -> str:
    """Return what the entries are about, each with its place; empty where none tells."""
    told = list(dict.fromkeys(filter(None, map(_said, entries))))
    return "; ".join(told[:SHOWN]) + and_more(len(told), SHOWN) if told else ""


def _said(entry: str) -> str:
    return next(_ways(entry), "")


def _ways(entry: str) -> Iterator[str]:
    if found := _OPERATOR.search(entry):
        how = "has no" if found["how"] == "is missing" else "has a wrong"
        yield f"`{found['operator']}` {how} fake kernel"
    if found := _VALUE.search(entry):
        yield f"only data tells `{found['value']}`{_where(entry)}"
    if found := _GUARD.search(entry):
        yield f"the export holds for `{found['guard']}` alone{_where(entry)}"


def _where(entry: str) -> str:
    places = [*_PLACE.finditer(entry.partition(_FRAMEWORK)[0])]
    if not places:
        return ""
    at = places[-1]
    code = f" (`{at['code']}`)" if at["code"] else ""
    return f" at {user_code.short(at['file'], int(at['line']))}{code}"
