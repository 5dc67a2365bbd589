"""Records of torch's of which a short log holds the middle, without their first lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tracelens.report import Advice, EvidenceLine
from tracelens.rules.log import _reasons
from tracelens.rules.log._alone_words import WORDS, Words
from tracelens.rules.log._parts import Part
from tracelens.rules.log._rests import told
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["of"]

#: Lines that are quoted.
MAX_QUOTED = 3
#: What the middle of a record is of; for kinds that are not here, their words as a whole do.
_WORDS: Mapping[str, Words] = {
    "graph_breaks": Words(
        "the middle of a record of a graph break",
        "Dynamo left the graph there. Frames of torch's own are how it came there; why, it says in "
        "the last of its lines.",
        "What is not in it stands above or below it in the log.",
        'TORCH_LOGS="graph_breaks"',
        "Record every break, with its reason and its place.",
    ),
    "recompiles": Words(
        "the middle of a record of a recompile",
        "A compiled function did not fit a call, and was compiled again. Once or twice is usual.",
        "Which function, and which guard failed, stands above it in the log.",
        'TORCH_LOGS="recompiles"',
        "Record every recompile, with its function and its reasons.",
    ),
    "recompile_limits": Words(
        "the end of a message that a function hit the limit of recompiles",
        "Calls that fit none of its entries run eagerly from then on.",
        "Which function, and the last reason, stands above it in the log.",
        'TORCH_LOGS="recompiles"',
        "Record every recompile, with its function and its reasons.",
    ),
    "autotune": Words(
        "a part of a search for kernels",
        "Max-autotune times candidates, which is no error.",
        "What they compute stands above them, behind `AUTOTUNE`.",
        'TORCH_LOGS="+inductor"',
        "Record all searches.",
    ),
}
#: What searches took, and how not to pay it again.
_TOOK = re.compile(r"AUTOTUNE (?:benchmarking )?takes (\d{1,6}(?:\.\d{1,9})?) s")
_KEEP = (
    "Record all searches, in the order of the log; keep the cache (TORCHINDUCTOR_CACHE_DIR) from "
    "start to start, with which nothing is searched twice."
)
_AT = re.compile(r"Graph break [^\n]{0,60}in user code at (?P<place>[^\n]{1,200}:\d{1,7})(?:\n|$)")
_AGAIN = re.compile(r"Recompiling function (?P<function>[^\s()]{1,200}) in ")
_LAST = re.compile(r"last reason: (?:\d{1,6}/\d{1,6}: )?(?P<reason>[^\n]{1,120})")
_LIMIT = "convert_frame"
_NOTE = Words(
    "a line of torch's own log",
    "It is no error by itself.",
    "What it belongs to stands around it.",
    'TORCH_LOGS="graph_breaks,recompiles"',
    "Record breaks and recompiles, which tell most.",
)
#: What Dynamo logs of a function on which it failed, and what tells of it.
_TRACED = re.compile(r"(?m)^\s*File \"|^\s*(?:\w{1,40}\.){0,4}\w{2,60}(?:Error|Exception)\b")
_LET_GO = Words(
    "a part of a traceback that Dynamo logged",
    "Where Dynamo fails on a function, it logs why, and the function runs eagerly.",
    "Which function, and why, stands in the lines around it.",
    'TORCHDYNAMO_VERBOSE=1 TORCH_LOGS="graph_breaks"',
    "Print breaks and errors whole.",
)


def of(evidence: Evidence) -> Part | None:
    """Return what was refused, or is of no kind, told by what most of it is of."""
    unread = [one for one in evidence.unread if one.builtin and one.lines]
    if unread:
        most = unread[0]
        words = _WORDS.get(most.kind) or WORDS.get(most.kind)
        if words is None:
            return None
        text, place = most.whole or most.text, most.place
        shown = (
            []
            if place is None
            else [
                EvidenceLine(input=place.input, line=place.line_of(at), text=one)
                for at, one in enumerate(text.split("\n"))
                if one.strip()
            ]
        )
        return _part(words, text, shown[:MAX_QUOTED], sum(one.lines for one in unread))
    if not evidence.known:
        return None
    site = max(evidence.known, key=lambda one: evidence.known[one][0])
    text = evidence.examples.get(site, "")
    dynamo = _LET_GO if _TRACED.search(text) else _WORDS["recompile_limits"]
    words = dynamo if site.endswith((_LIMIT, f"{_LIMIT}.py")) else _NOTE
    return _part(words, text, [], evidence.known[site][0])


def _part(words: Words, text: str, quotes: list[EvidenceLine], seen: int) -> Part:
    took = sum(map(float, _TOOK.findall(text)))
    title, means = "", words.means
    if words is _WORDS["recompile_limits"] and (last := _LAST.search(text)):
        title = f"a function hit the limit of recompiles, last for `{last['reason']}`"
        means = f"{means} {_reasons.helps(last['reason'])}".rstrip()
        words = words._replace(rest="How often it was compiled, and why before, is not in it.")
    if words is _WORDS["graph_breaks"] and (broken := _AT.match(text)):
        title = f"a graph break at {broken['place']}, without its reason"
        means = "Dynamo left the graph there, and Python runs up to the next one, at every call."
        words = words._replace(rest="Why stands in the lines below it in the log.")
    if words is _WORDS["recompiles"] and (again := _AGAIN.match(text)):
        title = f"`{again['function']}` is compiled again, and the guard that failed is cut off"
        words = words._replace(rest="Which guard failed stands in the lines below it in the log.")
    if took and words is _WORDS["autotune"]:
        title = f"{words.what}: {length(1e3 * took)} of timing"
        words = words._replace(text=_KEEP)
    return Part(
        words.what,
        " ".join(filter(None, (means, "" if words is _NOTE else told(text)))),
        words.rest,
        Advice(id="more-around", text=words.text, env=words.env or None, basis="source"),
        seen,
        quotes,
        title=title,
    )
