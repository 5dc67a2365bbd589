"""Parts of torch's logs that are pasted without prefix and without their first lines.

Each is read by the kind of log that it is from, behind the lines that it lacks; what it says then
is in that kind's tables, and :class:`Fragment` says what was missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from textwrap import dedent
from typing import NamedTuple

from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._kinds import kind
from tracelens.logs.graph_breaks import SETTINGS

__all__ = ["EXPLAINS", "Fragment", "Fragments", "named_break"]

#: How the reason of a recompile begins.
_REASON = (
    r"tensor '|L\[|G\[|___\w|GLOBAL_STATE changed|len\(\w|Duplicate tensors found"
    r"|(?:not )?hasattr\(\w|not [A-Za-z_]\w{0,80}"
    r"(?: {1,80} #|[.\[][\w.\[\]'\"]{0,200}(?:$| {1,80} #))"
    r"|(?:BACKEND_MATCH failure|Unexpected recompilation|Unable to find recompilation)\b"
    r"|Cache line invalidated because |expected type of '"
    r"|[A-Za-z_][\w.\[\]'\"()]{0,200} (?:(?:==|!=|<=|>=) \S|is (?:not )?None\b)"
    # Others are of anybody's lists, unless they read out of something or tell where they are from.
    r"|(?=[^\n\[#]{0,400}(?:\[|\.size\(|  #))[\w(][\w.\[\]'\"()*+-]{0,200}"
    r"(?: (?:[-+*%]|//?) [\w(][\w.\[\]'\"()*+-]{0,100}){0,8}"
    r" (?:(?:==|!=|<=|>=|<|>) \S|is (?:not )?None\b)"
)
_CAST = r"static_cast<(?:long|int64_t|int)>"

#: What stands in the middle of what torch says of a graph break or an error.
_REST = (
    r" {0,8}(?:Explanation: \S|Hint: \S|Developer debug context: \S|from user code:$"
    r"|While executing %\w{1,80} : |Original traceback:$|Set TORCHDYNAMO_VERBOSE=1 for"
    r"|Graph break: from user code at:$|torch\._dynamo\.config\.capture_\w{1,30} = True$"
    r"|env TORCHDYNAMO_CAPTURE_|GraphModule: class GraphModule\()"
)

#: What tells an explanation or a hint of Dynamo's from those of other programs.
_OF_DYNAMO = late(
    r"[Tt]orch|TORCH|[Dd]ynamo|[Tt]ensor|[Gg]raph|[Tt]rac(?:e|ing)\b|[Cc]ompil|[Dd]ata-dependent"
    r"|Developer debug context: |from user code:|Original traceback:|While executing %"
)

#: How reasons of graph breaks begin up to torch 2.6.
_OLD_REASONS = ("call_function ", "call_method ", "generic_jump ", "var_getattr: ")

#: How the line about a frame begins that runs eagerly.
_LEFT_OUT = "WON'T CONVERT"


class Fragments(Log):
    """Bare lines that only a part of torch's log, or generated code, begins with."""

    name = "fragments"
    switch = "a part of a log or of generated code, pasted"
    partial = True
    begins = re.compile(
        # Told apart at a glance from most lines of programs.
        r"(?=[ \t]{0,40}+(?:\d{1,6}/|- \d|[tlWGceo|+@d#fbgvEHDRSO[]))(?:"
        rf"{_REST}|"
        rf"[ \t]{{0,8}}- \d{{1,6}}/\d{{1,6}}:(?: *$| (?:{_REASON}))"
        r"| {0,8}triggered by the following guard failure\(s\):"
        rf"| {{0,8}}(?:last reason: )?\d{{1,6}}/\d{{1,6}}: (?:{_REASON})"
        r"| {0,8}tensor '[^\n]{1,300}' (?:size|stride|dtype|rank|requires_grad|dispatch key set)"
        r" mismatch(?: at index \d+)?\. expected "
        r"|(?: {1,8}|\[rank\d{1,4}\] )torch\._dynamo hit config\.\w{1,60} \(\d"
        r"|WON'T CONVERT (?:<graph break in \w{1,200}>|\S+) \S+ line \d+"
        r"|Graph break from `Tensor\.|Graph Break Reason: \S"
        r"|Reason: Unsupported: \S"
        r"|(?:call_function|call_method|generic_jump|var_getattr:) [A-Z]\w{2,60}Variable\("
        r"|create_(?:symbol s|unbacked_sym\w+ [uz])\d+ |eval [^\n]{1,300} \[guard added\]"
        r"|[ \t]{0,8}(?:\| ){0,60}\+- (?:RootGuardManager|(?:Dict)?GuardManager: source="
        r"|KeyValueManager pair"
        r"|(?:TENSOR_MATCH|TYPE_MATCH|ID_MATCH|EQUALS_MATCH|LENGTH_CHECK|DICT_CONTAINS"
        r"|LAMBDA_GUARD|GLOBAL_STATE|DEFAULT_DEVICE|NO_HASATTR|NO_TENSOR_ALIASING"
        r"|DICT_LENGTH|CONSTANT_MATCH|TORCH_FUNCTION_MODE_STACK): ?)"
        r'|extern "C" {1,2}(?:__declspec\(dllexport\) )?void {1,2}\w*kernel\w*\('
        r"|[ \t]{0,40}#pragma omp parallel num_threads\(\d+\)"
        rf"|[ \t]{{0,40}}for ?\((?:long|int64_t|int) \w{{1,20}}={_CAST}\("
        r"|@triton_heuristics\.\w+\(|def triton_(?:poi|red|per|tem|for|unk)_\w*\("
        r"|[ \t]{0,40}(?:buf\d+ = (?:empty_strided_\w+\(|reinterpret_tensor\(|extern_kernels\."
        r"|torch\.ops\.\w+\.|buf\d+; del buf\d+)"
        r"|[ \t]{0,8}class (?:GraphModule|<lambda>|joint_helper|inner_f)\((?:torch\.)?nn\.Module\):"
        r"|[ \t]{0,8}def forward\(self, (?:arg\d+_1|primals_\d+|[LsG]_\w{1,300}_|tangents_\d+)\b"
        r"|graph\(\):$|opcode {2,}name {2,}target {2,}args"
        r"|extern_kernels\.\w+\([^\n]*out=|cpp_fused_\w+\((?:buf|arg|primals_)|triton_\w+\.run\())"
    )
    continues = re.compile(
        r"[ \t]|[{})]|$|- |or:$|to include these operations|Graph break: from user code at"
        r"|\| |\+- |#|//|extern |@triton|def triton_|import triton"
        r"|(?:buf\d+|del|return|extern_kernels|cpp_fused_\w+|triton_\w+|auto|int|(?:in_)?out_ptr\d+)\b"
        r"|for ?\(|tmp\w+(?: = |\.store\()"
        r"|-{3,} |(?:placeholder|call_\w+|get_attr|output) "
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the fragment, and what the kind of log that it is from reads in it."""
        records = super().parse(text)
        found = [record for record in records if isinstance(record, Fragment)]
        return (*records, *(told for one in found for told in _read(one)))

    @classmethod
    def owns(cls, records: Sequence[Record]) -> bool:
        """Leave explanations and hints of other programs to them: torch's tell more than one."""
        found = [record for record in records if isinstance(record, Fragment)]
        return len(found) < len(records) or any(
            one.what != "rest"
            or (EXPLAINS in one.text and "Hint: " in one.text)
            or _OF_DYNAMO.search(one.text)
            for one in found
        )


class Fragment(Record):
    """A part of a log. One field holds its text; its name says what it is a part of."""

    at: int = 0
    recompiles: str = ""
    #: Why a graph was broken, or a frame left out.
    breaks: str = ""
    #: What became of sizes.
    shapes: str = ""
    #: That a function is compiled no more, and why.
    limit: str = ""
    guards: str = ""
    #: The source of kernels in C++ and in Triton.
    cpp: str = ""
    triton: str = ""
    #: Statements of a generated module.
    calls: str = ""
    #: An FX graph, in any of its forms.
    graph: str = ""
    #: What torch says below the first line of a graph break or an error.
    rest: str = ""

    @property
    def what(self) -> str:
        """The name of the field that holds the text; ``frame`` for a frame that is left out."""
        name = self._field
        return "frame" if name == "breaks" and self.breaks.startswith(_LEFT_OUT) else name

    @property
    def _field(self) -> str:
        return next((name for name, text in self if name != "at" and text), "calls")

    @property
    def text(self) -> str:
        """The text."""
        return str(getattr(self, self._field))


class _Whole(NamedTuple):
    """A fragment behind the lines that it lacks."""

    kind: str
    text: str
    #: How many lines stand before it.
    before: int


def _recompiles(text: str) -> _Whole:
    lines = [_bare(line) for line in text.split("\n") if line.strip()]
    reasons = [f"    {line}" for line in lines if line.startswith("- ")]
    head = ["Recompiling function ? in ?:0", "    triggered by the following guard failure(s):"]
    return _Whole("recompiles", "\n".join((*head, *reasons)), 2 - (len(lines) - len(reasons)))


def _bare(line: str) -> str:
    """Return a reason as it stands in the list of a recompile."""
    told = line.strip().removeprefix("last reason: ")
    return f"- {told}" if told[:1].isdigit() or told.startswith("tensor '") else told


def _breaks(text: str) -> _Whole:
    if text.startswith(("Graph Break Reason:", "Reason:")):
        return _Whole("graph_breaks", f"Graph break in user code at ?:0\n{text}", 1)
    if text.startswith(_OLD_REASONS):
        return _Whole("graph_breaks", f"Graph break in user code at ?:0\nReason: {text}", 1)
    return _Whole("graph_breaks", text, 0)


#: What stands before an explanation of a graph break.
EXPLAINS = "Explanation: "
#: What torch explains of a graph break, and what it calls the break.
_EXPLAINED = (
    (re.compile(r"tracing `Tensor\.(?:item|tolist)"), "Tensor.item() call"),
    (re.compile(r"tracing `Tensor\.backward"), "Unsupported Tensor.backward() call"),
    (re.compile(r"tracing `Tensor\.requires_grad_"), "Unsupported Tensor.requires_grad_() call"),
    (re.compile(r"Detected data-dependent branching"), "Data-dependent branching"),
    (re.compile(r"how to trace builtin operator"), "Failed to trace builtin operator"),
    (re.compile(r"output shape depends on input Tensor data"), "Dynamic shape operator"),
    (re.compile(r"whose value is dependent on the data"), "Data-dependent operator"),
    (re.compile(r"User-inserted graph break"), "Call to `torch._dynamo.graph_break()`"),
    (
        re.compile(
            r"does not know how to trace the (?:builtin|Python builtin)|marked as skipped"
            r"|have intentionally marked that the function"
        ),
        "Attempted to call function marked as skipped",
    ),
    (
        re.compile(r"a function wrapped with `torch\.compiler\.disable`"),
        "Skip calling `torch.compiler.disable()`d function",
    ),
)


def named_break(text: str) -> str:
    """Return the name of the break that ``text`` explains first; empty if unsure."""
    said = text.partition(EXPLAINS)[2].partition("\n")[0]
    return next((name for found, name in _EXPLAINED if found.search(said)), "")


def _limit(text: str) -> _Whole:
    return _Whole("recompile_limits", text[text.index("torch._dynamo") :], 0)


def _shapes(text: str) -> _Whole:
    return _Whole("dynamic", text, 0)


def _guards(text: str) -> _Whole:
    return _Whole("guards", f"TREE_GUARD_MANAGER:\n{text}", 1)


def _cpp(text: str) -> _Whole:
    """Close what the cut left open: loops are only read whole."""
    missing = text.count("{") - text.count("}")
    rest = "\n}" * max(0, missing)
    head = "Output code: \nkernel = async_compile.cpp_pybinding([], r'''"
    return _Whole("output_code", f"{head}\n{text}{rest}\n''')", 2)


def _triton(text: str) -> _Whole:
    head = "Output code: \ntriton_fused_0 = async_compile.triton('triton_fused_0', '''"
    return _Whole("output_code", f"{head}\n{text}\n''', device_str='cuda')", 2)


def _calls(text: str) -> _Whole:
    body = "\n".join(f"        {line}" for line in dedent(text).split("\n"))
    return _Whole("output_code", f"Output code: \ndef call(args):\n{body}", 2)


def _graph(text: str) -> _Whole:
    """Set the graph behind the lines that torch prints above it."""
    lowered = "torch.ops.aten" in text or "torch.ops.prims" in text
    kind, name = ("aot_graphs", "Forward graph 0") if lowered else ("graph_code", "pasted")
    lines = dedent(text).split("\n")
    head = [f"TRACED GRAPH\n ===== {name} ====="]
    if not lines[0].startswith("class "):
        head.append(" pasted.py class GraphModule(torch.nn.Module):")
        lines = [f"    {line}" for line in lines]
    else:
        lines[0] = f" pasted.py {lines[0]}"
    return _Whole(kind, "\n".join((*head, *lines)), len(head) + 1 - lines[0].count("pasted.py"))


#: What only the announcement of a break at ``Tensor.item()`` goes on with: a program may hold the
#: first setting, and an error's hint ends as the announcement does.
_ANNOUNCED = late(rf"(?m)^ {{0,8}}{SETTINGS[1].strip()}$")


def _announced(text: str) -> _Whole:
    return _Whole("graph_breaks", text, 0)


_COMPLETE: dict[str, Callable[[str], _Whole]] = {
    "recompiles": _recompiles,
    "breaks": _breaks,
    "frame": _breaks,
    "limit": _limit,
    "shapes": _shapes,
    "guards": _guards,
    "cpp": _cpp,
    "triton": _triton,
    "calls": _calls,
    "graph": _graph,
    "rest": _announced,
}


def _read(fragment: Fragment) -> Iterator[Record]:
    """Yield what the kind of log that the fragment is from reads in it."""
    from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

    if fragment.what == "frame" and "\n" not in fragment.text.rstrip():
        return  # neither the error nor whether it stopped anything is in it
    if fragment.what == "rest" and not _ANNOUNCED.search(fragment.text):
        return  # what stands around it tells whether it is of a break or of an error
    whole = _COMPLETE[fragment.what](fragment.text)
    try:
        found = kind(whole.kind).parse(whole.text)
    except Unreadable:
        return
    for record in found:
        if whole.kind == "graph_breaks" and getattr(record, "file", "") == "?":
            record = record.model_copy(update={"file": ""})  # noqa: PLW2901 -- no place is told
        yield moved(record, lambda at: max(0, at - whole.before))
