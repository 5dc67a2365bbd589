"""What a server of language models says while it starts: vLLM and sglang."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

__all__ = ["ServerStage", "Step", "VllmCompile"]

Step = Literal[
    "dynamo", "inductor", "cache", "total", "capture", "start", "weights", "begins", "other"
]
#: How the phrase of a step begins; the more special ones first.
PHRASES: dict[str, Step] = {
    "Dynamo bytecode transform time": "dynamo",
    "Compiling a graph for": "inductor",
    "Directly load the compiled": "cache",
    "Directly load the": "cache",
    "torch.compile": "total",
    "graph compilation takes": "total",
    "Graph capturing for": "begins",
    "finished in": "capture",
    "Graph capturing finished": "capture",
    "Capture cuda graph end": "capture",
    "Capture draft cuda graph end": "capture",
    "Capture cuda graph begin": "begins",
    "init engine": "start",
    "Loading weights took": "weights",
    "Model loading took": "weights",
    "Load weight end": "weights",
    "Load weight begin": "begins",
    "Starting to load model": "begins",
    "Initializing a V": "begins",
}
_PHRASES = (
    r"Dynamo bytecode transform time|Compiling a graph for |Directly load the "
    r"|torch\.compile (?:takes|took|and) |Graph capturing finished|Capture cuda graph (?:end|begin)"
    r"|init engine \(|Loading weights took|Model loading took|Load weight (?:end|begin)"
    r"|Starting to load model|Initializing a V\d|Successfully loaded graph|Runtime shape: "
    r"|Using cache directory: |graph compilation takes |Graph capturing for \d"
    r"|finished in [\d.]+ secs, took |Cache the graph |The server is fired up"
    r"|[Ss]tore the \d{1,6}-th graph |Capture \w{1,20} cuda graph (?:end|begin)"
)
_STAMP = late(r"(?:\d{4}-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)")


def _clock(text: str | float | None) -> float | None:
    """Return the seconds since the start of its (leap) year; None for an impossible date."""
    match = _STAMP.match(text) if isinstance(text, str) else None
    if match is None:
        return text if isinstance(text, float) else None
    month, day, hours, minutes, seconds = map(int, match.groups())
    try:
        days = date(2000, month, day).timetuple().tm_yday
    except ValueError:
        return None
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _step(phrase: str) -> str:
    return next((step for start, step in PHRASES.items() if phrase.startswith(start)), "other")


class VllmCompile(Log):
    """One line per step, behind the logger of the server."""

    name = "vllm_compile"
    switch = "the log of vllm serve, or of sglang"
    begins = re.compile(
        r"(?:(?:INFO|DEBUG|WARNING) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]{1,100}:\d{1,6}\] +"
        # The actors of Monarch, which run it, name themselves.
        r"(?:\[actor=[^\n]{1,300}?>\] )?"
        r"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]\n]{0,40}\] )"
        rf"(?:{_PHRASES}|Capturing CUDA graphs?[^\n]{{0,80}}:  *\d{{1,3}}%\|)"
        r"|Dynamo bytecode transform time: \d|torch\.compile t(?:akes|ook) [\d.]+ s in total"
        r"|Capturing CUDA graphs?[^\n]{0,80}:  *\d{1,3}%\|"
        r"|Graph capturing finished in \d|Compiling a graph for [^\n]{1,80} takes [\d.]+ s"
    )
    #: The rest of a line that was wrapped.
    continues = re.compile(r"[\d.]+ s(?:ecs?)?$|graph\(s\) for \w")


class ServerStage(Record):
    """One line: a step of the start, and the seconds that it took where it says so."""

    #: When the line was written, in seconds since the start of the year: the step's end.
    stamp: Annotated[float | None, BeforeValidator(_clock)] = None
    step: Annotated[Step, BeforeValidator(_step)] = "other"
    #: What was compiled or loaded: ``compile range (1, 8000)``, ``28-th graph for shape 1``.
    subject: Stripped = ""
    seconds: float | None = None
    gib: float | None = None
