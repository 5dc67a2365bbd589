"""Take off what a terminal, a logger, a notebook or a quotation put around a failure's text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tracelens.late import late
from tracelens.source.prefixes import TORCH, peel, unglued, unwrap_json

__all__ = ["Bare", "ended_by_worker", "undress"]

#: One layer of a program's own logger, of a tool that shows a traceback, or of a quotation.
_LAYER = late(
    # loguru, structlog, and most formats: a time or a level, and what stands up to the message.
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,\d]{0,10}Z?\s{0,3}(?:\|\s{0,2}[A-Z]{4,8}\s{0,4}\|\s{0,2}"
    r"[\w.<>:]{1,120}(?: - |\s)|\[\s{0,2}[A-Za-z]{4,8}\s{0,4}\]\s{0,2}|[A-Z]{4,8}\s{1,4}"
    r"|- [\w.]{1,80} - [A-Z]{4,8} - )"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,6})? \[?[A-Z]{4,8}\s{0,4}\]?:? (?:\[[^\]\n]{1,60}\] ?){0,3}"
    r"(?:[\w.]{1,100}: )?"
    r"|\[\d{4}-\d\d-\d\d[^\]\n]{0,30}\] ?(?:\[[A-Z]{4,8}\] ?)?"
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]{0,100}: ?"
    r"|\[(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s{0,4}\]:? ?"
    r"|\[?[Rr]ank ?\d{1,5}\]?:? "
    r"|\(\w[\w ]{0,60}pid=\d{1,10}[^)\n]{0,60}\) ?"
    r"|\d{1,3}%\|[^|\n]{0,200}\|[^\[\n]{0,60}\[[^\]\n]{0,60}\]\s?"
    # docker compose: the container, then a bar.
    r"|[a-z][\w.-]{1,60} {1,30}\| "
    r"|[#>|](?: |$)|[│┃║] ?"
    r"|E {3,}(?=\S)|!!! "
    # ComfyUI's error reports.
    r"|- \*\*Exception (?:Type|Message):\*\* "
)
_RIGHT = late(r"\s{0,400}[│┃║]\s{0,8}$")
_FRAME = late(r"\s{0,400}(?:[╭╰┌└├┏┗╔╚╞].{0,3}[─━═]|[─━═]{8})")
#: Links of a terminal or of Markdown leave their text.
_LINK = late(r"\[([^\]\n]{1,300})\]\((?:https?|file)://[^)\n]{1,400}\)")


#: Modules of torch that log an error and then raise it.
_RAISES = late(
    rb"E\d{4} [^]]*(?:triton_heuristics|elastic/multiprocessing/api)\.py:\d+\]"
    rb"|(?:\[?ERROR\]?:? ?)?torch\.distributed\.elastic\.multiprocessing\.api: ?(?:\[ERROR\])?"
)
#: ... and the processes that compile for another one, which raises it, or tries something else.
_WORKERS = late(rb"E\d{4} [^]]*compile_worker/(?:subproc_pool|__main__)\.py:\d+\]")
#: Where torch logs the error of a function that it leaves uncompiled.
_LEAVES_OUT = late(
    rb"[WE]\d{4}[ -][^]]*convert_frame\.py:\d+\]"
    rb"|.{0,60}torch\._dynamo\.convert_frame: \[(?:WARNING|ERROR)\]"
)
#: The head of a frame in a box that was too narrow for it.
_BROKEN = late(r"(?:[A-Za-z]:\\|[/~])(?:[^\s:]{12,400}|\S{1,400}\.py:\d{1,6}(?: in)?)$")
#: The head of a frame without its line, and the line of source that is pointed at.
_UNNUMBERED = late(r"\s{0,4}(?:[A-Za-z]:)?[~/\\][^\s:]{1,300}\.py in \w")
_ARROW = late(r"\s{0,8}-{2,5}> (\d{1,6})\b")
#: Line ends that were printed as two characters, in a traceback that is.
_ESCAPED = (rb"\n  File ", rb"\nTraceback (most recent")
#: Lines after an excerpt in which nobody went on.
MAX_AFTER = 3


class Bare(NamedTuple):
    """One line, as it was written before anything was put around it."""

    number: int
    text: str
    #: Torch's logger wrote it: whoever logs an error goes on, but for those of ``_RAISES``.
    logged: bool
    #: ... of a function that it leaves uncompiled for it.
    leaves_out: bool = False
    #: A process that compiles for another one logged it.
    of_worker: bool = False


def ended_by_worker(rows: list[Bare], last: int) -> list[Bare]:
    """Return the lines, those of a worker as raised ones where torch logged nothing after them.

    ``last`` is the last line of the input: what comes after the excerpt may be more of its log.
    """
    ends = next((row for row in reversed(rows) if row.logged), None)
    if ends is None or not ends.of_worker or last - rows[-1].number > MAX_AFTER:
        return rows
    return [row._replace(logged=row.logged and not row.of_worker) for row in rows]


def undress(lines: Iterable[tuple[int, bytes]]) -> dict[str, list[Bare]]:
    """Return the bare lines of each rank that a launcher named."""
    found: dict[str, list[Bare]] = {}
    for number, raw in lines:
        line, rank, _ = peel(raw.rstrip(b"\r\n"))
        if line.startswith(b'{"log":') and (inner := unwrap_json(line)) is not None:
            line, rank, _ = peel(inner)
        elif line[:1] == b"{" and (inner_lines := _of_json(line)):
            found.setdefault(rank, []).extend(Bare(number, one, False) for one in inner_lines)
            continue
        if (inner := unglued(line)) != line:  # behind an editor's line number, or a progress bar
            line = inner
        head, match = b"", TORCH.match(line)
        if match is not None:
            head, line = match[0], line[match.end() :].removeprefix(b" ")
        text = line.decode("utf-8", "replace").replace("\xa0", " ").rpartition("\r")[2]
        logged = match is not None and _RAISES.search(head) is None
        leaves_out = match is not None and _LEAVES_OUT.match(head) is not None
        of_worker = logged and _WORKERS.search(head) is not None
        rows = found.setdefault(rank, [])
        if rows and text.lstrip(" ").startswith("│") and _BROKEN.match(rows[-1].text):
            rows[-1] = rows[-1]._replace(text=_joined(rows[-1].text, _bare(text)))
            continue
        escaped = any(one in line for one in _ESCAPED)
        parts = _bare(text).replace('\\"', '"').split("\\n") if escaped else [_bare(text)]
        rows.extend(Bare(number, part, logged, leaves_out, of_worker) for part in parts)
    for rows in found.values():
        _number(rows)
    return found


def _number(rows: list[Bare]) -> None:
    """Give frames of older notebooks, and of Colab, the line number that an arrow points at."""
    frame: int | None = None
    for at, row in enumerate(rows):
        if _UNNUMBERED.match(row.text):
            frame = at
        elif frame is not None and (arrow := _ARROW.match(row.text)):
            place, _, function = rows[frame].text.partition(" in ")
            rows[frame] = rows[frame]._replace(text=f"{place}:{arrow[1]} in {function}")
            frame = None


def _joined(start: str, rest: str) -> str:
    """Return the head of a frame that a box broke: in the middle of a word, or at a blank."""
    blank = start.endswith(" in") or rest.startswith("in ")
    return f"{start} {rest}" if blank else start + rest


def _of_json(line: bytes) -> list[str]:
    """Return the lines of the longest text in a line that a program logged as JSON."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    values = list(record.values()) if isinstance(record, dict) else []
    inner = [value for one in values if isinstance(one, dict) for value in one.values()]
    texts = [text for text in (*values, *inner) if isinstance(text, str) and "rror" in text]
    return [_bare(one) for one in max(texts, key=len, default="").split("\n") if texts]


def _bare(text: str) -> str:
    for _ in range(4):
        match = _LAYER.match(text.lstrip(" ")) if text[:60].strip() else None
        if match is None or not match.end():
            break
        text = text.lstrip(" ")[match.end() :]
    if text[-12:].rstrip().endswith(("│", "┃", "║")):
        text = _RIGHT.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    return "" if _FRAME.match(text) else text.rstrip()
