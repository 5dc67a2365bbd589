"""Operations that take a number of Python, and what a line does instead to have a symbol."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tracelens.dynamo.leaving_out import left_out
from tracelens.dynamo.user_code import package, short
from tracelens.remedies import Remedy
from tracelens.report import FindingData
from tracelens.rules.rcp._data import ManyData, RecompileData

__all__ = [
    "COUNTED_IN_PACKAGE",
    "LEAVE_COUNTER_OUT",
    "Changed",
    "FloatData",
    "computes_in_python",
    "in_python",
    "is_item",
    "is_made_tensor",
    "lines_of",
    "takes_tensor",
    "written_in",
    "written_out",
]

#: Python's and NumPy's own functions, which need the number itself.
_PYTHON = re.compile(r"\b(?:math|np|numpy)\.\w|\b(?:int|round)\(")
#: A tensor that is made of the number: of a tensor it is left out.
_MADE_OF = r"\btorch\.tensor\([^()]{{0,80}}?(?<![\w.]){0}\b[^()]{{0,80}}\)"
#: Operations that take a 0-d tensor in place of the number. Tried: no graph break, one entry.
_TENSOR = (
    r"\b(?:clamp|clamp_min|clamp_max|clip|pow|lerp|masked_fill|where|full|quantile|linspace|fill_)"
    r"\((?:[^()]|\([^()]{{0,80}}\)){{0,200}}?(?<![\w.]){0}\b|\*\* ?{0}\b"
    r"|" + _MADE_OF
)
#: What an operation is, with the number as a factor. Tried: one entry for all numbers.
_WRITTEN = {
    r"\balpha=": "p - {} * g",
    r"\bleaky_relu\(": "torch.where(x > 0, x, {} * x)",
    r"\belu\(": "torch.where(x > 0, x, {} * torch.expm1(x))",
    r"\baddcmul_?\(": "p + {} * a * b",
    r"\baddcdiv_?\(": "p + {} * a / b",
    r"\bfull_like\(": "torch.ones_like(x) * {}",
}

#: How a guard names a module within another.
_PART = re.compile(r"\._modules\['[^']{1,100}'\]\.")

#: A layer of a Sequential or of a list: its name is a number.
_LISTED = re.compile(r"\._modules\['\d{1,5}'\]\.\w+$")


class Changed(FindingData):
    """A traced line that changes what a module or an object keeps."""

    file: str
    line: int
    function: str
    code: str


class FloatData(ManyData):
    """A float, and what is computed with it."""

    #: Whether a tensor that the function is given has double precision.
    is_double: bool = False
    #: Whether no size or number of the function became a symbol, as the log of them tells.
    is_static: bool = False
    #: The lines of the function that name it, where the log has the traced graph.
    lines: tuple[str, ...] = ()
    #: The line of the compiled code that changes it, where the log has that.
    changed: Changed | None = None

    @property
    def counted_by(self) -> str:
        """The installed package whose line changes it."""
        return package(self.changed.file) if self.changed else ""


def lines_of(data: RecompileData) -> tuple[str, ...]:
    """Return the lines of the program that are known to name it."""
    return (data.code, *(data.lines if isinstance(data, FloatData) else ()))


def computes_in_python(data: RecompileData) -> bool:
    """Whether Python computes with it in a line, as ``math.exp(-beta)`` does."""
    name = data.source.rpartition(".")[2]
    return any(map(_PYTHON.search, lines_of(data))) and any(
        _takes(line, name) for line in lines_of(data) if _PYTHON.search(line)
    )


def _takes(line: str, name: str) -> bool:
    """Whether a function of Python's gets the value: ``math.log(2.0) * t.exp()`` has none."""
    try:
        nodes = list(ast.walk(ast.parse(line.strip())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    calls = (one for one in nodes if isinstance(one, ast.Call) and _PYTHON.match(ast.unparse(one)))
    given = [arg for one in calls for arg in (*one.args, *(word.value for word in one.keywords))]
    return not name.isidentifier() or any(
        name in (getattr(one, "id", ""), getattr(one, "attr", ""))
        for arg in given
        for one in ast.walk(arg)
    )


def in_python(lines: Iterable[str]) -> bool:
    """Whether one of the lines computes in Python."""
    return any(map(_PYTHON.search, lines))


def is_item(data: RecompileData) -> bool:
    """Whether it is an item of a list or a dict, as no attribute of a module within another is."""
    return "[" in _PART.sub(".", data.source)


def takes_tensor(data: RecompileData) -> bool:
    """Whether the operation takes a tensor as well, as ``clamp`` does, and none takes it alone."""
    holder, _, name = data.source.rpartition(".")  # `crit.limit` is `self.limit` in its line
    wanted = (r"(?:\w{1,80}\.){1,8}" if holder else "") + re.escape(name)
    found = any(re.search(_TENSOR.format(wanted), line) for line in lines_of(data))
    return found and not (computes_in_python(data) or written_out(data))


def is_made_tensor(data: RecompileData) -> bool:
    """Whether a line makes a tensor of it: ``torch.sin(torch.tensor(self.time * 6.0))``."""
    holder, _, name = data.source.rpartition(".")
    wanted = (r"(?:\w{1,80}\.){1,8}" if holder else "") + re.escape(name)
    return any(re.search(_MADE_OF.format(wanted), line) for line in lines_of(data))


def written_out(data: RecompileData) -> str:
    """Return the operation with the number as a factor; empty where none is known."""
    return written_in(lines_of(data), data.source)


def written_in(lines: Iterable[str], source: str) -> str:
    """Return the operation of one of the lines with a number as a factor."""
    given = list(lines)
    for name, code in _WRITTEN.items():
        if any(re.search(name, line) for line in given):
            return code.format(source)
    return ""


def _counter(data: RecompileData) -> Changed | None:
    return data.changed if isinstance(data, FloatData) and data.counted_by else None


def _leaves(data: RecompileData) -> str | None:
    """Return code that leaves the counting function out, where no loop of torch's calls it.

    A graph break in the loop of a Sequential makes all of its layers run eagerly.
    """
    line = _counter(data)
    if line is None or _LISTED.search(data.source):
        return None
    return left_out(line.function, line.file, line.line)


def _counted(data: RecompileData) -> str:
    line = _counter(data)
    at = f"{short(line.file, line.line)}, `{line.code}`," if line is not None else "The package"
    return f"{at} changes it in each call, and each value is an entry of its own"


LEAVE_COUNTER_OUT = Remedy(
    "leave-counter-out",
    lambda data: (
        f"{_counted(data)}: leave that function of `{data.counted_by}` out of what is compiled."
    ),
    when="a module of an installed package changes it in a line that is compiled, and is none of "
    "a Sequential",
    applies=lambda data: _leaves(data) is not None,
    code=_leaves,
    since="2.6",
    basis="tested",
    proof="tests/advice/RCP005/leave-counter-out.py",
)
#: Tried: with such layers left out a step took 1.2 times as long as after the limit, all eager.
COUNTED_IN_PACKAGE = Remedy(
    "counted-in-package",
    lambda data: (
        f"No change is named: {_counted(data)}. What calls the layer is a list of layers, of which "
        f"none is compiled once this one is left out: measure `{data.function}` uncompiled."
    ),
    when="the same, in a Sequential or a list",
    applies=lambda data: _counter(data) is not None and _leaves(data) is None,
    basis="untestable",
    proof="it says what is known, and asks for no change",
    says=True,
)
