"""Failures that were no failures of the program: of an installation, or only spoken of."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.failures.home import Item, line_of
from tracelens.failures.stages import is_compiler
from tracelens.late import late
from tracelens.logs.failures import Diagnostic, Episode, Raised, Traced

__all__ = ["built_by_pip", "exported", "lone", "quoted", "refusal", "whole"]

_NAME = r"([A-Za-z0-9](?:[\w.-]{0,60}[A-Za-z0-9])?)(?![\w-])"
#: What pip prints of a package that cannot be built, and of one that it begins with.
_WHEEL = late(
    rf"(?:[Ff]ailed (?:building|to build) wheels? for|Could not build wheels for) {_NAME}"
    rf"|Failed to build installable wheels for [\w. -]{{1,60}}\({_NAME}"
)
_BEGUN = late(rf"(?:Building wheel for|^\s*Failed to build) {_NAME}(?![^\n]{{0,60}}\bdone\b)")
_PIP = "subprocess-exited-with-error"
#: A message in quotation marks or as code, in a sentence that says when it may come.
_QUOTED = late(
    r"\b(?:[Ii]f (?:you|it|this|the|there)|[Ww]hen(?:ever)? you|[Oo]therwise"
    r"|(?:may|might|could) (?:also )?(?:see|get|encounter|face|meet))\b"
    r"[^\n\"`\u201c]{1,120}[\"`\u201c][A-Z*]"
)
#: How the exporter to ONNX sums up a chain of exceptions.
_SUMMARY = late(r"^\s*<class '[\w.]{1,200}'>: (\S.{0,600})")
#: A file of the compiler, as people name those of a traceback that they shorten.
_COMPILER = late(r"\btorch[/\\]_(?:dynamo|inductor|functorch)[/\\][\w/\\]{1,80}\.py\b(?!:\d+\])")
_MARK = late(r"\s{0,8}[A-Za-z_][\w.]{0,120}(?:Error|Exception|Failed)\b")


#: What Markdown puts before and behind words of a sentence that it sets apart.
_MARKS = ("**", "`", "__")


def whole(item: Item) -> str:
    """Return a message that ends within its line; empty where it may go on.

    That is what a compiler refuses, and what a sentence sets apart, without the sentence.
    """
    if isinstance(item, Diagnostic):
        return item.diagnostic
    if not isinstance(item, Raised):
        return ""
    mark = next((one for one in _MARKS if item.lead.endswith(one)), "")
    said, closed, _ = item.message.partition(mark) if mark else ("", "", "")
    return said if closed else ""


def built_by_pip(lines: Sequence[str], frames: Sequence[Traced]) -> dict[str, str]:
    """Return the package that pip could not build, where it is that what failed."""
    if any(is_compiler(one.place) for one in frames):
        return {}
    found = [match[1] or match[2] for line in lines if (match := _WHEEL.search(line))]
    if not found and any(_PIP in line for line in lines):
        found = [match[1] for line in lines if (match := _BEGUN.search(line))][-1:]
    return {"wheel": found[0]} if found else {}


def lone(above: Sequence[str]) -> dict[str, str]:
    """Return that a message has no traceback, and whether files of the compiler stand above it."""
    named = {"beside": "yes"} if any(map(_COMPILER.search, above)) else {}
    return {"alone": "yes"} | named


def exported(cause: str, lines: Sequence[str]) -> str:
    """Return the innermost exception of an export to ONNX, which its summary names first."""
    if cause != "onnx-export":
        return ""
    found = (match[1] for line in lines if (match := _SUMMARY.search(line)))
    return next(found, "")


def refusal(episode: Episode) -> str:
    """Return the first line in which a compiler refuses something; what pip says of it is none."""
    said = (one.diagnostic for one in episode.items if isinstance(one, Diagnostic))
    return next((text for text in said if _PIP not in text), "")


def quoted(cause: str, at: int, episode: Episode, frames: Sequence[Traced]) -> dict[str, str]:
    """Return that a text only speaks of the message: it stands in quotation marks in a sentence."""
    if frames or cause in {"unknown", "cut"} or not episode.short:
        return {}
    if any(isinstance(one, Raised) and _MARK.match(line_of(one)) for one in episode.items):
        return {}
    line = line_of(episode.items[min(at, len(episode.items) - 1)])
    return {"quoted": "yes"} if _QUOTED.search(line) else {}
