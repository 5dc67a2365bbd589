"""What is left of torch's messages about breaks and errors when their first line is cut off."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.report import Advice
from tracelens.rules.log._parts import Part
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.logs.compile_errors import LogError
    from tracelens.logs.fragments import Fragment
    from tracelens.logs.torch_notes import TorchNote

__all__ = ["of", "told"]

#: Records of torch's other parts, more of which are a log and no quotation.
FEW_NOTES = 5
#: Characters of a message that are told.
MAX_QUOTED = 300
#: Kinds that a rest is of; anything else in the log says more.
_KINDS = frozenset({"compile_errors", "foreign", "fragments", "torch_notes", "warnings"})
#: Errors of searches for kernels, which TUN rules read.
_OF_SEARCHES = ("Runtime", "CUDA", "All auto", "Triton", "Failed during", "Precompilation")
_NODE = re.compile(
    r"While executing %(?P<node>\w{1,80}) [^\n]{0,200}?\[target=(?P<target>[^\]\n]{1,80})"
)
_SAID = re.compile(r"(?:Explanation|Hint|Developer debug context): (?P<said>[^\n]+)")
_USER = re.compile(
    r"# File: (?P<file>[^\n:]{1,200}:\d{1,7})"
    r"|File \"(?P<path>[^\"\n]{1,200})\", line (?P<line>\d{1,7})"
)
_OF_TORCH = re.compile(r"[/\\]torch[/\\]")
_RAISED = re.compile(r"(?m)^\s*(?P<error>(?:\w{1,40}\.){0,4}\w{2,60}(?:Error|Exception): [^\n]+)")
_META = re.compile(r"failed while attempting to run meta for (?P<operator>[\w.:]{1,80})")


class _Words(NamedTuple):
    """What a rest is about, and what is most likely to be done."""

    of: re.Pattern[str]
    what: str
    means: str
    do: str


_WORDS = (
    _Words(
        re.compile(
            r"capture_scalar|CAPTURE_SCALAR|target=(?:item|tolist|aten\._local_scalar)"
            r"|_local_scalar_dense|\.(?:item|tolist)\(\)"
        ),
        "the middle of a message about a number that is read from a tensor",
        "Dynamo met `.item()`, `.tolist()` or the like: the graph is broken there, and under"
        " fullgraph=True that is an error.",
        " If it is one of these calls, keep the number a tensor, or have it captured in the graph"
        " (TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1).",
    ),
    _Words(
        re.compile(
            r"capture_dynamic|CAPTURE_DYNAMIC|target=\S{0,20}(?:nonzero|masked_select|unique)"
            r"|aten\.(?:nonzero|masked_select|_?unique)"
        ),
        "the middle of a message about a result whose size depends on the data",
        "Dynamo met an operator such as `nonzero`: the graph is broken there, and under"
        " fullgraph=True that is an error.",
        " If it is such an operator, have it captured in the graph"
        " (TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS=1), or compute it with a mask.",
    ),
    _Words(
        _META,
        "an error of an operator that torch runs without data",
        "The operator refused the sizes, types or devices that it was given while the program was"
        " traced; without compiling it would most likely refuse them, too.",
        " Run it once without compiling, to see whether it is the program's.",
    ),
    _Words(
        _NODE,
        "the node of a traced graph at which torch failed, or left the graph",
        "What failed stands above it.",
        "",
    ),
    _Words(
        re.compile(
            r"(?:from user code|Original traceback|Graph break: from user code at):"
            r"|TORCHDYNAMO_VERBOSE"
        ),
        "the end of a message of Dynamo's about an error or a graph break",
        "What failed, or broke the graph, stands above it.",
        "",
    ),
    _Words(
        _SAID,
        "the middle of a message of Dynamo's about a graph break",
        "Dynamo left the graph there, and under fullgraph=True that is an error.",
        "",
    ),
)
#: What is read as a graph break.
_BROKE = "torch._dynamo.exc.Unsupported: "
#: What launchers and libraries print in every run.
_ANY_RUN = re.compile(r"OMP_NUM_THREADS environment variable|\*{20}|force disabled")
#: Of these NUM001 tells.
_COMPARED = re.compile(r"\b[Aa]ccuracy failed\b|RMSE \(res-fp64\): |\bbad accuracy detected")
_LOGGED = _Words(
    re.compile(r"(?m)^\s*(?:\w{1,40}\.){0,4}\w{2,60}(?:Error|Exception)\s*$"),
    "a piece of torch's own log, which ends an exception",
    "Whether the program went on after it, the lines around it tell.",
    "",
)
_OTHER = _Words(
    re.compile(""),
    "a piece of torch's own log",
    "It is no error by itself; what it belongs to stands around it.",
    "",
)


def of(
    fragments: Table[Fragment],
    notes: Table[TorchNote],
    errors: Table[LogError],
    kinds: Mapping[str, int],
) -> list[Part]:
    """Return the part that the log is, where it holds nothing else.

    ``kinds`` says how many records of each kind there are.
    """
    rests = [row for row in fragments if row.record.what == "rest"]
    if kinds.keys() - _KINDS or len(rests) != len(fragments) or notes.count > FEW_NOTES:
        return []
    if not rests and kinds.get("torch_notes", 0) > FEW_NOTES:
        return []
    notes = notes.where(lambda note: _BROKE not in f"{note.title}\n{note.text}")
    loose = [row for row in errors if not row.record.title.startswith(_OF_SEARCHES)]
    held: list[Seen[Fragment] | Seen[TorchNote] | Seen[LogError]] = [*rests, *notes, *loose]
    if not held:
        return []
    text = "\n".join(row.text for row in held)
    words = next((one for one in _WORDS if one.of.search(text)), None)
    words = words or (_LOGGED if _LOGGED.of.search(text) else _OTHER)
    if words is _OTHER and (_ANY_RUN.search(text) or not re.search(r"\w", text)):
        return []
    if _COMPARED.search(text):
        return []
    return [
        Part(
            words.what,
            " ".join(filter(None, (words.means, told(text)))),
            "The rest of the message, which is not in it, says what it was.",
            Advice(
                id="whole-message",
                text=f"Print breaks and errors whole, into a file.{words.do}",
                env='TORCHDYNAMO_VERBOSE=1 TORCH_LOGS="graph_breaks"',
                code="python app.py > run.log 2>&1; tracelens analyze run.log",
                basis="source",
            ),
            sum(row.count for row in held),
            [row.quote() for row in few(held)],
        )
    ]


def told(text: str) -> str:
    """Return what the text itself says: the error, the explanation, the node, and the place."""
    parts = []
    raised, said, node = (found.search(text) for found in (_RAISED, _SAID, _NODE))
    if raised:
        parts.append(f"It says: {raised['error'][:MAX_QUOTED].rstrip('.')}.")
    elif said:
        parts.append(f"It says: {said['said'][:MAX_QUOTED].rstrip('.')}.")
    if node:
        parts.append(f"The node is `%{node['node']}`, a call of `{node['target']}`.")
    places = [
        one["file"] or f"{one['path']}:{one['line']}"
        for one in _USER.finditer(text)
        if not _OF_TORCH.search(one.group())
    ]
    if places:
        parts.append(f"The program was at {places[-1]}.")
    return " ".join(parts)
