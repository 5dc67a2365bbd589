"""Where Dynamo had to leave the graph, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, model_validator

from tracelens.logs import HeadedLog, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Flag

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = [
    "SETTINGS",
    "Cause",
    "Context",
    "GraphBreak",
    "GraphBreaks",
    "Kind",
    "LoneCause",
    "NotConverted",
    "Site",
    "StackFrame",
]

_SHOWN = {"UnspecializedPythonVariable": "random", ") __call__ [": "skipped"}  # in contexts
MAX_ROWS = 200  # of the report's table
#: Torch's own wrapper around a model that several processes train.
DATA_PARALLEL = "DistributedDataParallel"
DATA_PARALLEL_FILE = "/torch/nn/parallel/distributed.py"
#: Fields of :class:`Kind` that hold the name of what another field is about.
NAMED = {
    "builtin_call": "builtin",
    "drawn": "random",
    "dynamic_operator": "dynamic_shape",
    "numpy": "skipped",
    "skipped_name": "skipped",
}
#: ``ConstantVariable(str: 'next_id')`` or ``next_id``.
AttributeName = Annotated[
    str,
    BeforeValidator(lambda text: text.partition("'")[2].rstrip("')") if "'" in text else text),
]
#: ``numpy.random.mtrand.RandomState'>) __new__`` or ``RandomState) rand``.
StateName = Annotated[
    str,
    BeforeValidator(
        lambda text: ".".join(part.rpartition(".")[2].rstrip("'>)") for part in text.split())
    ),
]


#: What the announcement of a break at ``Tensor.item()`` goes on with.
SETTINGS = (
    "    torch._dynamo.config.capture_scalar_outputs = True",
    "    env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1",
    "to include these operations in the captured graph",
)
_FRAMES = re.compile(r'File "([^"\n]{1,300})", line (\d{1,7})')
_LOGGING = re.compile(r"[/\\](?:python3?[\d.]*|[Ll]ib)[/\\]logging[/\\]__init__\.py$")
_PYTHON = re.compile(r"[/\\](?:python3?[\d.]*|[Ll]ib)[/\\](?!.*-packages[/\\])")
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(rb"torch\._dynamo\.exc\.\w{1,40}: ")
#: How torch 2.1 to 2.6 begin the warning that a backend could not trace what Dynamo had.
BACKEND_FAILED = "Backend compiler failed with "
_FAILED = re.compile(
    rf"{BACKEND_FAILED}(?P<what>[^\n]{{1,400}}?) at *\n(?P<stack>(?: {{2,4}}[^\n]*(?:\n|$))+)"
    r"(?P<end>Falling back to eager|Adding a graph break)?"
)
#: How torch 2.0 to 2.6 warn that what an operator of higher order calls cannot be traced.
SPECULATED = "speculate_subgraph: while introspecting "
_SPECULATED = re.compile(
    rf"{SPECULATED}(?:the user-defined )?(?P<what>[\w.]{{1,80}}), we were unable to trace "
    r"function `[^`\n]{1,120}` into a single graph"
)
_ANNOUNCES = "Graph break from `Tensor.item()`, consider setting:"


class GraphBreaks(HeadedLog):
    """``[__graph_breaks]``, and the warning about ``Tensor.item()`` that needs no setting."""

    name = "graph_breaks"
    switch = 'TORCH_LOGS="graph_breaks"'
    artifacts = frozenset({"__graph_breaks"})
    marks = (
        "Graph break from `",
        "Graph break: ",
        "WON'T CONVERT ",
        "WONT CONVERT ",
        BACKEND_FAILED,
        SPECULATED,
        *SETTINGS,
    )
    prefixed = True
    cuts = re.compile(r"Graph break (?:in|from|\()|Graph break: (?!from )")
    opens = (
        "Graph break in user code at ",
        "Graph break (user stack suppressed",
        "Graph break: from user code at:",
        "Graph break: skip: from user code",
    )

    @classmethod
    def encloses(cls, body: Sequence[bytes], line: str) -> bool:
        """Tell whether it is of the traceback that torch 2.2 to 2.5 print with the reason."""
        if not body[0].startswith((b"Graph break: from user", b"Graph break: skip: from user")):
            return False
        if line == _TRACEBACK:
            return _TRACEBACK.encode() not in body
        if not _RAISED.match(line.encode()):
            return False  # before all lines are looked at
        return _TRACEBACK.encode() in body and not any(map(_RAISED.match, body))

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the breaks; an announcement without its first line is one, too."""
        if failed := _FAILED.match(text):
            return super().parse(_as_break(failed))
        if spoken := _SPECULATED.match(text):
            return (_untraced(spoken),)
        if text.startswith(SETTINGS):
            from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

            found = super().parse(f"{_ANNOUNCES}\n{text}")
            return tuple(moved(one, lambda at: max(0, at - 1)) for one in found)
        return super().parse(text)

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``graph_breaks``: per place and type, how often, and how many frames it cost."""
        rows: dict[tuple[str, int, str], dict[str, Any]] = {}
        for seen in evidence.table(GraphBreak):
            record = seen.record
            if record.announced:
                continue
            key = (record.file, record.line, record.text)
            row = rows.setdefault(
                key,
                {
                    "file": record.file,
                    "line": record.line,
                    "type": record.text,
                    "gb": record.gb,
                    "count": 0,
                    "frames_skipped": 0,
                },
            )
            row["count"] += seen.count
            row["frames_skipped"] += seen.count if record.skips_frame else 0
        ranked = sorted(rows.values(), key=lambda row: -row["count"])
        return {"graph_breaks": ranked[:MAX_ROWS]} if rows else {}


def _as_break(failed: re.Match[str]) -> str:
    """Return the warning in the form of the record that later versions print."""
    *_, (file, line) = _FRAMES.findall(failed["stack"]) or [("?", "0")]
    skips = "Failed to handle graph break gracefully.\n\n" if failed["end"][:1] == "F" else ""
    reason = f"{skips}{BACKEND_FAILED}{failed['what']}"
    head = f"Graph break in user code at {file}:{line}\nGraph Break Reason: {reason}"
    return f"{head}\n\nUser code traceback:\n{failed['stack'].rstrip()}"


class _Told(Record):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True
    )


class Kind(_Told):
    """What broke the graph, in the words of the version that wrote it.

    Exactly one field holds the text; its name is the family, which is the same for all versions.
    """

    #: ``.item()``, ``.tolist()``, ``int(tensor)``.
    scalar: str = ""
    #: An operator whose result is no tensor; the context names it.
    data_dependent: str = ""
    #: ``if tensor:``, ``while tensor:``, ``assert tensor``.
    branch: str = ""
    #: A Python builtin, which the context names...
    builtin_call: str = ""
    #: ... or, up to torch 2.6, the text itself: here is the name.
    builtin: str = ""
    clock: str = ""
    logger: str = ""
    #: ``torch._dynamo.graph_break()``.
    explicit: str = ""
    #: ``torch.compiler.disable``.
    disabled: str = ""
    #: A function that Dynamo does not trace into...
    skipped: str = ""
    #: ... and its name, where the text up to torch 2.6 holds it.
    skipped_name: str = ""
    #: A call into numpy, which torch 2.0 does not trace: the text is all that there is.
    numpy: str = ""
    dynamic_shape: str = ""
    #: The operator, where the text up to torch 2.6 holds it.
    dynamic_operator: str = ""
    context_manager: str = ""
    loop: str = ""
    recurrent: str = ""
    autograd: str = ""
    #: ``obj.attr = value`` on a tensor, a class or another object that Dynamo does not model.
    attribute: str = ""
    #: An operator could not be run on tensors without data.
    fake: str = ""
    #: A generator of random numbers, or a draw in place.
    random: str = ""
    #: The method of Python's generator, where the text up to torch 2.6 holds it.
    drawn: str = ""
    other: str = ""

    @property
    def family(self) -> str:
        """The name of the field that holds the text."""
        name = next((name for name, text in self if text), "other")
        return NAMED.get(name, name)

    @property
    def text(self) -> str:
        """The text."""
        text = next((str(text) for _, text in self if text), "")
        quoted = len(text) > 1 and text[0] == text[-1] == "`" and text.count("`") == 2
        return text[1:-1] if quoted else text


class Context(_Told):
    """What the developer debug context names."""

    builtin: str = ""
    module: str = ""
    qualname: str = ""
    #: The frame that was skipped, where the break is the loss of a frame.
    function: str = ""
    file: str = ""
    line: int = 0
    operator: str = ""
    #: The operator that has no implementation for tensors without data.
    unsupported: str = ""
    #: Of ``setattr``: what the attribute is set on, as Dynamo calls it, and its name.
    object: str = ""
    attribute_name: AttributeName = ""
    #: A generator of random numbers, and the method that was called.
    state: StateName = ""
    other: str = ""


class Site(_Told):
    """Torch's page about one type of break. ``number`` (``gb0059``) is stable across versions."""

    base: str = ""
    number: str = ""
    other: str = ""

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.other or f"{self.base}{self.number}.html"


class Cause(_Told):
    """One type of break with all that torch says about it."""

    at: int = 0
    kind: Kind
    explanation: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    context: Context | None = None
    site: Site | None = None

    @property
    def told(self) -> bool:
        """Whether torch says more than what it met, as it does since 2.7."""
        return bool(self.explanation or self.hints or self.context or self.site)

    @property
    def family(self) -> str:
        """What broke the graph, in one word; see :class:`Kind`."""
        family = self.kind.family
        context = self.context
        if context is not None and (context.state or context.qualname.startswith("Random.")):
            return "random"
        if context is not None and context.qualname.startswith(f"{DATA_PARALLEL}."):
            return "ddp"
        if family == "other" and context is not None:
            return next((one for word, one in _SHOWN.items() if word in context.other), family)
        if family == "data_dependent" and context is not None:
            return "scalar" if "_local_scalar_dense" in context.operator else family
        return family


LoneCause = Cause  # in forms that say nothing else about it


class Skipped(_Told):
    """The function that Dynamo gave up, where the record names it."""

    function: str
    file: str
    line: int


class GraphBreak(_Told):
    """One graph break. Its first cause is the true one; others happened while handling it."""

    at: int = 0
    file: str = ""
    line: int = 0
    causes: tuple[Cause, ...] = ()
    #: What torch did about it, where it says so.
    wrapper: str = ""
    #: The whole frame runs eagerly.
    skips_frame: Flag = False
    skipped: Skipped | None = None
    #: The same break was printed before, with its stack.
    duplicate: Flag = False
    #: It is the warning about ``Tensor.item()``, which is printed beside the break itself.
    announced: Flag = False
    #: The user's stack, outermost first.
    stack: tuple[StackFrame, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _place(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Take the place from the stack in versions that do not print it by itself."""
        stack = values.get("stack")
        if stack and not values.get("file"):
            values = {**values, "file": stack[-1].file, "line": stack[-1].line}
        return values

    @property
    def is_echo(self) -> bool:
        """Whether it says less than another record of the same break."""
        return self.duplicate or self.announced

    @property
    def cause(self) -> Cause | None:
        """The true cause; None where the log was cut before it."""
        return self.causes[0] if self.causes else None

    @property
    def family(self) -> str:
        """The family of the true cause; ``ddp`` for breaks that torch's own wrapper makes.

        In Python's own ``logging`` it is the call of a logger, or of what makes one.
        """
        if self.file.endswith(DATA_PARALLEL_FILE):
            return "ddp"
        if _LOGGING.search(self.file) and not any("getLogger" in one.code for one in self.stack):
            return "logger"
        found = self.cause.family if self.cause else "other"
        is_object = found == "skipped" and self.text == "Unsupported method call"
        return "other" if is_object and _PYTHON.search(self.file) else found

    @property
    def text(self) -> str:
        """The type of break as torch words it."""
        return self.cause.kind.text if self.cause else ""

    @property
    def gb(self) -> str:
        """Torch's number for the type, such as ``gb0059``; empty before torch 2.9."""
        return self.cause.site.number if self.cause and self.cause.site else ""


def _untraced(found: re.Match[str]) -> GraphBreak:
    """Return the break at what cannot be traced; the warning has no place."""
    kind = Kind(skipped=found[0], skipped_name=found["what"])
    return GraphBreak(causes=(Cause(kind=kind),), announced=True)


#: Exceptions of Dynamo that stop nothing but the compilation of one frame.
SOFT = frozenset({"Unsupported", "UserError", "CacheLimitExceeded", "RecompileLimitExceeded"})


class NotConverted(_Told):
    """A frame that runs eagerly because compiling it failed."""

    at: int = 0
    function: str
    file: str
    line: int
    error: str = ""
    #: The lines of the program that lead to the operator that failed, the innermost last.
    stack: tuple[StackFrame, ...] = ()

    @property
    def is_soft(self) -> bool:
        """Whether Dynamo leaves the frame out by itself, as it does at a graph break.

        It says so with ``TORCH_LOGS="dynamo"``. Every other error stops the program, or is
        suppressed where the user wants that.
        """
        return self.error.partition(":")[0].rpartition(".")[2] in SOFT
