"""What stands before a line's own text: torch's log prefix, and what transports put in front of it.

Only patterns, no state. All of them are linear: no quantifier repeats over another one.
"""

from __future__ import annotations

import sys
from datetime import date
from functools import lru_cache

import msgspec

from tracelens.late import late

__all__ = [
    "BEGUN",
    "TORCH",
    "TORN",
    "TRANSPORT",
    "clock",
    "peel",
    "plain",
    "rank_of",
    "undressed",
    "unglued",
    "unwrap_json",
]

_ID = rb"\[[!\d-][\d/_!-]*\]"
_ARTIFACT = rb"\[__[a-z]\w*\]"

_CLOCK = (
    rb"(?:\d{4} |\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)?"
    rb"[.,]\d{3,6}(?:Z|[+-]\d\d:?\d\d)?"
)
_TIME = late(
    rb"(?:\d{4}-)?(\d\d)-?(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:Z|[+-]\d\d:?\d\d)?[.,](\d{3,6})"
)
#: Bytes of the clock of glog's format, and of what stands before its microseconds.
_GLOG, _MICROS = 20, 14
#: What the line of a record looks like before its clock is read.
_LETTER = rb"[VIWECF]\d{4}(?: \d\d:|-\d\d-\d\d[T ])"

#: A torch log prefix. ``clock`` and ``writer`` are volatile and split off; ``site`` goes to the
#: grammar ``torch_log``. Three forms: glog (torch 2.2 on), Python logging (2.1), and trimmed by
#: hand. Some builds write the date as ISO does, zone and all.
TORCH = late(
    rb"(?:"
    rb"[VIWECF](?P<clock>" + _CLOCK + rb") +(?:(?P<writer>\d+) |(?=[\w./\\-]{0,100}torch[/\\]))"
    rb"(?P<site>[^\]\n]{1,400}\]"
    rb"(?: " + _ID + rb")?(?: " + _ARTIFACT + rb")?)"
    rb"|(?:\[(?P<clock21>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] )?"
    rb"(?P<site21>(?:" + _ID + rb" )?[Tt]orch[\w.]{0,200}: \[[A-Z]{4,8}\])"
    rb"|(?P<bare>(?:(?:\.{3}/)?torch[\w./\\-]{1,200}:\d+\] )?(?:"
    + _ID
    + rb" )?"
    + _ARTIFACT
    + rb"|(?:\.{3}/)?torch[/\\][\w./\\-]{1,200}\.py:\d+\] "
    + _ID
    + rb")"
    rb")"
)

#: A glog prefix of torch in the middle of a line: a progress bar left no newline before it.
_GLUED = late(
    rb"(?<![\s\"'`(=])[VIWEC]" + _CLOCK + rb" +\d+ "
    rb"[\w./\\-]{0,200}torch[/\\][\w./\\-]{1,200}:\d+\] "
)

#: A warning behind a progress bar, which left no newline.
_GLUED_WARNING = late(rb"(?<=it/s\])(?:[A-Za-z]:)?[/\\][^:\n]{1,500}:\d{1,7}: \w{0,60}Warning: ")

#: The limit of recompiles as it was in 2022, behind the prefix of Python's logging.
_GLUED_LIMIT = late(
    rb"(?<!^)(?<![\w.])torchdynamo hit (?:recompilation cache limit|config\.\w{1,40}_limit) \(\d"
)

#: A table of autotuning behind a progress bar.
_GLUED_TABLE = late(rb"(?<=(?:it/s|s/it)\])AUTOTUNE (?=\w{1,100}\()")

#: A line of sglang's log behind a progress bar.
_GLUED_SERVER = late(rb"(?<=it/s\])\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]\n]{0,40}\] ")

#: A line of Python's logging that names torch, behind the columns of a benchmark.
_GLUED_LOGGER = late(
    rb"(?<=  )\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:" + _ID + rb" )?"
    rb"torch\.[\w.]{1,100}: \[[A-Z]{4,8}\] "
)

#: A line of oneDNN in the middle of another one, for the same reason.
_GLUED_ONEDNN = late(
    rb"(?<![\"'`(=A-Za-z_$/.-])(?<!\$ )(?=(?:onednn|dnnl|mkldnn)_verbose,"
    rb"(?:v\d+,)?(?:[\d.]{1,30},)?(?:info|primitive|graph|common|ukernel|exec|create|cpu|gpu)\b)"
)

#: The rest of a torch prefix whose beginning was lost, of ``.../guards.py:5396] [0/1] [__guards]``:
#: the place up to its bracket, or the rest of a mark, such as ``uards]``. A bracket that a program
#: opens itself, as in ``[rank0]:``, is none.
TORN = late(rb"[^\]\[\n]{0,200}\.py:\d{1,6}\] |[\w/!:-]{0,100}\] ")
_OURS = (
    _LETTER + rb"|(?:onednn|dnnl|mkldnn)_verbose,|\[rank\d"
    rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:" + _ID + rb" )?torch\."
    rb"|(?:" + _ID + rb" )?" + _ARTIFACT
)
#: The beginning of a line of torch or oneDNN, however short.
BEGUN = late(_LETTER + rb"|onednn_verbose,")

_DAY = rb"\d{4}-\d\d-\d\d"
_HOUR = rb"\d\d:\d\d:\d\d"
_LEVEL = rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|debug|info|warning|error|critical)"
#: What a program's own logger puts before each line: loguru, structlog, Hydra, transformers, rich,
#: and usual formats of Python's logging. Where the logger is torch's, the prefix tells the record.
_LOGGER = (
    _DAY + rb"[ T]{1,2}" + _HOUR + rb"(?:[.,]\d{1,6})? ?\| ?(?:" + _LEVEL + rb" {0,4}\| ?"
    rb"(?:[\w.<>]{1,100}:[\w.<>]{1,100}:\d{1,6} - |[\w-]{1,40} \|(?: |$))"
    rb"|[\w.-]{1,60} \| (?:\d{1,20} \| )?" + _LEVEL + rb" {0,4}: )"
    rb"|(?:" + _DAY + rb"[ T]" + _HOUR + rb"(?:[.,]\d{1,6})?Z? )?"
    rb"\[(?:debug|info|warning|error|critical) {0,6}\] "
    rb"|\[" + _DAY + rb" " + _HOUR + rb"[.,]\d{3,6}\](?: \[" + _LEVEL + rb"\] "
    rb"(?:\[[\w./:<>-]{1,100}\] )?|\[(?!torch)[\w.]{1,100}\]\[" + _LEVEL + rb"\] - )"
    rb"|\[" + _LEVEL + rb"\|[\w./-]{1,100}:\d{1,6}\] " + _DAY + rb" " + _HOUR + rb",\d{3} >> "
    rb"|" + _DAY + rb" " + _HOUR + rb",\d{3} - (?!torch)[\w.]{1,100} - " + _LEVEL + rb" - "
    # The workers of TorchServe.
    rb"|"
    + _DAY
    + rb"T"
    + _HOUR
    + rb",\d{3} \[[A-Z]{4,5} {0,2}\] W-\d{1,6}-[\w.-]{1,100} MODEL_LOG - "
    rb"|\[" + _HOUR + rb"\] (?:DEBUG {4}|INFO {5}|WARNING {2}|ERROR {4}|CRITICAL )"
    # A clock alone, before what has one of its own.
    rb"|\[" + _HOUR + rb"[.,]\d{3}\]:? (?=" + _LETTER + rb")"
)

#: One layer of transport: container, orchestrator, journal, CI, launcher, quotation, line number.
TRANSPORT = late(
    # Some services put it in brackets.
    rb"(?:\[(?=[\dT:.,Z+-]{20,40}\] ))?"
    rb"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d))\]?"
    rb"(?: (?:stdout|stderr) (?P<part>[FP]))? ?"
    # torchrun writes no blank after it, the exceptions of a rank do; a quotation has one or none.
    # Indents are even: an odd number of blanks holds one that is not part of the line.
    rb"|\[(?P<rank>(?:rank|default)\d{1,6})\](?::(?: (?=(?:  )*(?! )))?| ?(?=" + _LETTER + rb"))"
    rb"|\[pod/[^\]\n]{1,300}\] "
    rb"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3,6}\] (?=" + _LETTER + rb")"
    # Numbers that an editor, grep or cat wrote; only before a record of torch or oneDNN.
    rb"| {0,8}+\d{1,8}(?: ?[:|-][ \t]{0,2}|[ \t]{1,4})"
    rb"(?=" + _LETTER + rb"|onednn_verbose,|\[rank\d|AUTOTUNE \w|SingleProcess AUTOTUNE "
    rb"|  \w{1,100} \d[\d.]{0,12} ms \d[\d.]{0,6}%)"
    # The compilation that a record is of, where all before it was cut off.
    rb"|\[\d{1,6}/\d{1,6}(?:_\d{1,4})?\] (?=(?:fx graph|FX graph|AOTAutograd) cache |Step [123]: "
    rb"|torch\._dynamo hit|FX codegen |Not enough SMs|skipping cudagraphs|Recompiling function "
    rb"|Graph break |DeviceCopy in |Using FallbackKernel)"
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w.@/-]{1,100}(?:\[\d{1,10}\])?: "
    rb"|\((?:[\w.()-]{1,100} )?(?:rank=\d{1,6} )?pid=\d{1,10}(?:, ip=[\d.]{7,15})?\) ?"
    # The same without its bracket, where whoever copied it began behind that.
    rb"|[\w.()-]{1,100} pid=\d{1,10}(?:, ip=[\d.]{7,15})?\) ?"
    rb"(?=\(\w{1,60} pid=|(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d |" + _OURS + rb")"
    # vLLM's logger, which repeats itself before every line of a traceback. What it says of its own
    # start is read with it: its times are the evidence.
    rb"|(?:WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d "
    rb"\[?[\w./-]{1,100}:\d{1,6}\](?: |$)"
    # The logger of Inductor before it was a part of torch.
    rb"|(?:DEBUG|INFO|WARNING|ERROR) torchinductor\.[\w.]{1,60}: "
    rb"|" + _LOGGER + rb"|"
    # docker compose: the container and a bar.
    rb"[\w.-]{1,60}(?<=[_-]\d) {1,20}\|(?: |$)"
    rb"|>(?: (?=(?:  )*(?! )))?"
    # The left border of a pane, before a record of torch, of oneDNN or of vLLM.
    rb"|\xe2\x94\x82 (?=" + _OURS + rb"|(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d )"
    # Code in a sentence; a fence has three.
    rb"|`{1,2}(?=[^`\s])"
    # An indent, or the mark of a list, a comment or a diff, before a record of torch or oneDNN.
    rb"|[ \t]{0,400}+(?:\*\*|[*+#-] ?|// ?|\d{1,2}[.)] {1,3})?`{0,3}(?=" + _OURS + rb")"
    # The mark of a diff before a table of autotuning.
    rb"|[+-] ?(?=AUTOTUNE \w|  \w{1,100} \d[\d.]{0,12} ms \d[\d.]{0,6}%)"
    # ... and before one of the profiler.
    rb"|[+-](?= {2,60}(?:Name  |[\w:]{2,80} {1,20}\d{1,3}\.\d\d%  +[\d.]{1,12}[mu]?s  ))"
)
_ANSI = late(
    rb"\x1b(?:\[[0-?]{0,16}[ -/]{0,4}[@-~]"
    rb"|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[()][\w])"
)

_RANKED = late(r"torch_trace_rank_(\d{1,6})(?!\d)[^/\\]*$")


def peel(line: bytes) -> tuple[bytes, str, bool]:
    """Take the transport layers off ``line``.

    Returns:
        The text beneath, the rank that a launcher named (``rank0``; empty when none did), and
        whether the container runtime cut the line here and goes on in its next one.
    """
    rank, partial = "", False
    line = plain(line)
    for _ in range(4):
        match = TRANSPORT.match(line)
        if match is None or match.end() == 0:
            break
        line = line[match.end() :]
        if match["rank"]:
            rank = sys.intern("rank" + match["rank"].lstrip(b"rankdefult").decode())
        partial = partial or match["part"] == b"P"
    return line, rank, partial


def undressed(line: bytes) -> tuple[bytes, str, bool]:
    """Return what :func:`peel` does, of a line that may be in a container runtime's JSON, too.

    A tab begins the payload of a structured record, whatever comes after it.
    """
    text, rank, partial = (line, "", False) if line[:1] == b"\t" else peel(line)
    if text.startswith(b'{"log":') and (inside := unwrap_json(text)) is not None:
        return peel(inside)
    return text, rank, partial


def unglued(line: bytes) -> bytes:
    """Return ``line`` from where a line of torch or oneDNN begins in its middle; all for nowhere.

    What stands behind a tab is a payload of torch's, whatever it looks like.
    """
    found = _GLUED_ONEDNN.search(line) if b"_verbose," in line else None
    if found is None and b"it/s]" in line and b"Warning: " in line:
        found = _GLUED_WARNING.search(line)
    if found is None and b"it/s][" in line:
        found = _GLUED_SERVER.search(line)
    if found is None and b"]AUTOTUNE " in line:
        found = _GLUED_TABLE.search(line)
    if found is None and b"  [" in line and b"] torch." in line:
        found = _GLUED_LOGGER.search(line)
    if b"torchdynamo hit " in line:
        found = _GLUED_LIMIT.search(line)
    if found is None and b".py:" in line and line[:1] != b"\t":
        found = _GLUED.search(line)
    return line if found is None else line[found.start() :]


def rank_of(path: str) -> str:
    """Return the rank that torch put into the name of a structured log; empty for none."""
    match = _RANKED.search(path)
    return f"rank{match[1]}" if match is not None else ""


def plain(text: bytes) -> bytes:
    """Return ``text`` without colours and other terminal codes."""
    return _ANSI.sub(b"", text) if b"\x1b" in text else text


def unwrap_json(line: bytes) -> bytes | None:
    """Return the text inside one line of a container runtime's JSON log; None for other lines."""
    try:
        text = msgspec.json.decode(line, type=_JsonLine).log
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        return None
    return text.rstrip("\n").encode("utf-8", "surrogatepass")


class _JsonLine(msgspec.Struct):
    log: str


def clock(text: bytes) -> float | None:
    """Return a prefix's time in seconds since the start of its year; None for an impossible date.

    ``1120 10:45:41.174000`` (no year: a leap year is assumed, so differences within one log hold)
    or ``2026-11-20 11:29:34,659`` or ``2026-11-20T11:29:34+08:00.659000``, the zone left out.
    """
    if len(text) == _GLOG and text[_MICROS:].isdigit():
        second = _second_of(text[:_MICROS])
        return None if second is None else second + float(b"." + text[_MICROS:])
    return _read_clock(text)


@lru_cache(maxsize=16)
def _second_of(text: bytes) -> float | None:
    """Return the time without its fraction: neighbours were mostly written in the same second."""
    return _read_clock(text + b"000")


def _read_clock(text: bytes) -> float | None:
    match = _TIME.match(text)
    day = None if match is None else _day_of(match[1], match[2])
    if match is None or day is None:
        return None
    hours, minutes, seconds = int(match[3]), int(match[4]), int(match[5])
    return ((day * 24 + hours) * 60 + minutes) * 60 + seconds + float(b"." + match[6])


@lru_cache(maxsize=400)
def _day_of(month: bytes, day: bytes) -> int | None:
    """Return which day of a leap year it is; None for an impossible date."""
    try:
        return date(2000, int(month), int(day)).timetuple().tm_yday
    except ValueError:
        return None
