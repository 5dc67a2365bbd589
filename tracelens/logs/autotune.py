"""The tables of timings that ``mode="max-autotune"`` prints, one per operator and shape."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["Autotune", "AutotuneTable", "Choice", "Gemm", "LooseChoices", "Stats"]

#: Rows of the report's table.
MAX_ROWS = 200
#: How the names of generated candidates begin; every other name is a library's.
TEMPLATES = (
    "triton_",
    "cpp_",
    "cutlass",
    "cutedsl_",
    "ck_",
    "ck_tile",
    "rocm_",
    "nv_universal_gemm",
    "decompose_k",
    "pallas_",
)
Shape = tuple[int | str, ...]


def _number(text: str) -> int | str:
    return int(text) if is_whole(text) else text


def _shapes(text: str) -> tuple[Shape, ...]:
    """Split ``128x512, 512`` in ((128, 512), (512,)); a symbolic size stays text."""
    parts = text.split(",")
    return tuple(tuple(_number(size) for size in part.strip().split("x")) for part in parts)


def _strides(text: str) -> tuple[Shape, ...]:
    parts = text.strip().removeprefix("[").removesuffix("]").split("], [")
    return tuple(tuple(_number(step) for step in part.split(", ") if step) for part in parts)


def _dtypes(text: str) -> tuple[str, ...]:
    return tuple(part.strip().removeprefix("torch.") for part in text.split(",") if part.strip())


def _split(how: Callable[[str], tuple[Any, ...]]) -> BeforeValidator:
    """Return the validator of a tuple that stands in one token."""

    def split(value: object) -> object:
        one = value[0] if isinstance(value, list) and len(value) == 1 else None
        return how(one) if isinstance(one, str) else value

    return BeforeValidator(split)


def _no_nan(text: object) -> object:
    """Read ``nan`` as infinite: a record that holds it would not equal itself."""
    return "inf" if text == "nan" else text


def _decoded(text: object) -> object:
    """Decode the statistics; a line that was cut off holds none."""
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else text
    except msgspec.DecodeError:
        return None


#: The end of a line as some services log it.
_ESCAPED = late(r"(?m)\\n$")
_HEAD = "AUTOTUNE "
_TAKES = late(r"\w+ AUTOTUNE (?:benchmarking )?takes \d")
#: Columns that are looked for.
MAX_COLUMNS = 4


def _columns(lines: Sequence[str]) -> list[str]:
    """Return the tables that stand side by side; none where there is one, or they overlap."""
    head = next((line for line in lines if line.startswith(_HEAD)), "")
    starts = [found.start() for found in re.finditer(r"(?<=\s)AUTOTUNE (?=\w+\()", head)]
    if not starts or len(starts) >= MAX_COLUMNS:
        return []
    if any(line[at - 1 : at].strip(" \t|") for line in lines for at in starts):
        return []
    edges = [0, *starts, None]
    return [
        "\n".join(line[a:b].rstrip(" \t|") for line in lines) for a, b in itertools.pairwise(edges)
    ]


#: Percent of the winner, and rows from which on a table is one.
FASTEST, MIN_ROWS = 100.0, 2
#: A candidate: below the time that a search took, it is the next search's.
_ROW = late(r"(?:  )?[A-Za-z_]\S{0,200} (?:\d+\.\d{4}|inf) ms ")
#: A template's kernel, which is named by its operator.
_TEMPLATE = late(r"(?:triton|cpp|cutlass|ck)_(\w{1,60}?)_\d{1,6}$")
#: A kernel of a library, which is named by its operator, too.
_LIBRARY = late(r"(?:\w{0,40}_)?(?:add|badd)?b?mm(?:_\w{1,40})?$|\w{0,40}(?:conv|linear)")


class Autotune(Log):
    """The tables that a tuned compilation prints to standard error."""

    name = "autotune"
    switch = 'torch.compile(mode="max-autotune")'
    marks = ("AUTOTUNE ", "Autotune Choices Stats:")
    begins = re.compile(
        r"(?:  [A-Za-z_]|(?=triton_|cpp_|cutlass|ck_|bias_|addmm|_?mm |bmm |_mkl|_linear|conv)\w)"
        r"[^\s=]{0,200} (?:\d+\.\d{4}|inf) ms (?:\d+\.\d%|inf%)(?= *$| \S)"
        r"|(?:Single|Sub)Process AUTOTUNE (?:benchmarking )?takes \d"
    )
    continues = re.compile(
        r'\{"num_|AUTOTUNE \S+\(|strides: \[|dtypes: torch|\w+ AUTOTUNE (?:benchmarking )?takes '
        r"|(?:  )?\S+ +(?:[\d.]+(?:e-?\d+)?|inf|nan) ?m?s +"
        r"(?:[\d.]+(?:e-?\d+)?%|inf%|nan%|<DIVIDED)"
    )

    @classmethod
    def pieces(cls, lines: Sequence[str]) -> list[tuple[int, str]]:
        """Cut at every table: its statistics come first, where the version prints them."""
        starts: list[int] = []
        headed, rows, ended = True, False, False
        for offset, line in enumerate(lines):
            is_header = line.startswith("AUTOTUNE ")
            if line.startswith("Autotune Choices Stats:"):
                starts.append(offset)
                headed = False
            elif not starts or (is_header and headed) or (ended and _ROW.match(line)):
                starts.append(offset)
                rows = False
            # A time below rows ends a search; above them, the newest line comes first.
            rows = rows or _ROW.match(line) is not None
            ended = rows and _TAKES.match(line) is not None
            headed = headed or is_header
        ends = [*starts[1:], len(lines)]
        return [(a, "\n".join(lines[a:b])) for a, b in zip(starts, ends, strict=True)]

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the tables; of two that somebody set side by side, the left one first."""
        text = _ESCAPED.sub("", text)
        lines = text.split("\n")
        parse = super().parse
        if len(lines) > 1 and lines[0].startswith(_HEAD) and _TAKES.match(lines[1]):
            # The newest line comes first: below is another search, which ends with its time.
            from tracelens.logs._payloads import moved  # noqa: PLC0415 -- it reads all kinds

            below = parse("\n".join((*lines[2:], lines[1])))
            return (*parse(lines[0]), *(moved(one, lambda at: at + 2) for one in below))
        read = (one for half in _columns(lines) or [text] for one in parse(half))
        return tuple(_completed(one) for one in read)

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``autotune``: who won on each shape, by how much, and what the search took."""
        tables = [seen.record for seen in evidence.table(AutotuneTable) if seen.record.choices]
        return {"autotune": [table.row() for table in tables[:MAX_ROWS]]} if tables else {}


def _completed(record: Record) -> Record:
    """Return a table for rows that begin with a winner: all that is missing are the sizes."""
    if not isinstance(record, LooseChoices) or len(record.choices) < MIN_ROWS:
        return record
    if record.choices[0].percent != FASTEST:
        return record
    kernels = [one.kernel for one in record.choices]
    named = [found[1] for one in kernels if (found := _TEMPLATE.match(one))]
    named += [one for one in kernels[-1:] if _LIBRARY.match(one)]
    if not named:
        return record  # such rows are what any program may print
    told = {name: getattr(record, name) for name in type(record).model_fields}
    return AutotuneTable(op=named[0], **told)


class Choice(Record):
    """One candidate kernel. ``ms`` is infinite where it did not compile or run."""

    at: int = 0
    kernel: str
    ms: Annotated[float, BeforeValidator(_no_nan)]
    #: As it is printed: ``ms``, or ``s``, by which torch 2.0 means milliseconds too.
    unit: str = "ms"
    #: The best time as a share of this one's, in percent; infinite where neither has a time.
    percent: Annotated[float | None, BeforeValidator(_no_nan)] = None
    #: The parameters of a Triton template, ``BLOCK_M=64, ...``, as they are printed.
    parameters: str = ""

    @property
    def is_template(self) -> bool:
        """Whether Inductor generated it; otherwise it is a call into a library."""
        return self.kernel.startswith(TEMPLATES)

    @property
    def ran(self) -> bool:
        """Whether it has a time at all."""
        return math.isfinite(self.ms)


class Stats(Record):
    """The summary line of torch 2.9 and later. Times in milliseconds."""

    from_code: ClassVar[bool] = True

    model_config: ClassVar = {**Record.model_config, "extra": "ignore"}

    num_choices: int = 0
    num_triton_choices: int = 0
    best_kernel: str = ""
    best_time: float | None = None
    best_triton_pos: int | None = None
    best_triton_time: float | None = None
    best_triton_kernel: str = ""


def _told(rows: tuple[Choice, ...], info: ValidationInfo) -> tuple[Choice, ...]:
    """Return the rows, or the best candidates of the statistics."""
    stats: Stats | None = info.data.get("stats")
    if rows or stats is None:
        return rows
    best = (stats.best_kernel, stats.best_time), (stats.best_triton_kernel, stats.best_triton_time)
    return tuple(Choice(kernel=name, ms=ms) for name, ms in dict.fromkeys(best) if name and ms)


class AutotuneTable(Record):
    """The candidates for one operator on one set of shapes, as far as they are printed."""

    at: int = 0
    op: str = ""
    sizes: Annotated[tuple[Shape, ...], _split(_shapes)] = ()
    strides: Annotated[tuple[Shape, ...], _split(_strides)] = ()
    dtypes: Annotated[tuple[str, ...], _split(_dtypes)] = ()
    stats: Annotated[Stats | None, BeforeValidator(_decoded)] = None
    #: The rows; where none was printed, or pasted, the two that the statistics tell of.
    choices: Annotated[tuple[Choice, ...], AfterValidator(_told)] = Field(
        default=(), validate_default=True
    )
    #: ``SingleProcess`` or ``SubProcess``.
    process: str = ""
    seconds: float | None = None
    precompiling: float | None = None
    prescreening: float | None = None
    #: How many candidates there were; more than are listed where the table is limited.
    tried: int | None = None

    @property
    def ranked(self) -> tuple[Choice, ...]:
        """The choices that ran, fastest first."""
        return tuple(sorted((c for c in self.choices if c.ran), key=lambda choice: choice.ms))

    @property
    def best(self) -> Choice | None:
        """The winner; None when nothing ran or nothing was printed."""
        return next(iter(self.ranked), None)

    @property
    def lead(self) -> float | None:
        """How many times the winner's time the next best choice takes."""
        first, second = (*self.ranked, None, None)[:2]
        if first is None or second is None or not first.ms:
            return None
        return round(second.ms / first.ms, 2)

    @property
    def dtype(self) -> str:
        """The data type of the first operand, such as ``bfloat16``; empty before torch 2.8."""
        return self.dtypes[0] if self.dtypes else ""

    @property
    def shape(self) -> str:
        """The sizes as they are printed."""
        return ", ".join("x".join(map(str, size)) for size in self.sizes)

    @property
    def gemm(self) -> Gemm | None:
        """The matrix product that was tuned; None for other operators and symbolic sizes."""
        return _gemm(self.op, self.sizes)

    def gflops(self, choice: Choice) -> float | None:
        """Return how many billion operations per second ``choice`` reached."""
        gemm = self.gemm
        if gemm is None or not choice.ran or not choice.ms:
            return None
        return gemm.flops / choice.ms / 1e6

    def row(self) -> dict[str, Any]:
        """Return this table as a row of the report's ``autotune`` table."""
        best = self.best
        second = self.ranked[1] if len(self.ranked) > 1 else None
        return {
            "op": self.op,
            "shape": self.shape,
            "dtype": self.dtype,
            "winner": best.kernel if best is not None else None,
            "winner_ms": best.ms if best is not None else None,
            "runner_up": second.kernel if second is not None else None,
            "ratio": self.lead,
            "template_wins": best.is_template if best is not None else None,
            "seconds": self.seconds,
        }


class LooseChoices(Record):
    """Candidates of a table whose header was not pasted; its winner may be missing as well."""

    at: int = 0
    choices: tuple[Choice, ...] = ()
    process: str = ""
    seconds: float | None = None
    precompiling: float | None = None
    prescreening: float | None = None
    tried: int | None = None


class Gemm(NamedTuple):
    """A batch of products of an M x K by a K x N matrix."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.batch * self.m * self.n * self.k


#: Operator -> where its two factors stand among the operands.
_FACTORS = {
    "mm": (0, 1),
    "int_mm": (0, 1),
    "_int_mm": (0, 1),
    "mixed_mm": (0, 1),
    "scaled_mm": (0, 1),
    "_scaled_mm": (0, 1),
    "bmm": (0, 1),
    "addmm": (1, 2),
    "baddbmm": (1, 2),
}
#: ... and for oneDNN and MKL, whose weight is N x K. The packed weight of MKL has no such shape.
_TRANSPOSED = {"linear_unary": (0, 1), "linear_binary": (0, 2), "packed_linear": (0, 2)}


def _gemm(op: str, sizes: Sequence[Shape]) -> Gemm | None:
    left, right = _FACTORS.get(op) or _TRANSPOSED.get(op) or (0, len(sizes))
    if right >= len(sizes):
        return None
    a = [size for size in sizes[left] if isinstance(size, int)]
    b = [size for size in sizes[right] if isinstance(size, int)]
    if op in _TRANSPOSED:
        b.reverse()
    if len(a) != len(sizes[left]) or len(b) != len(a) or len(a) not in {2, 3} or a[-1] != b[-2]:
        return None
    return Gemm(a[0] if len(a) == 3 else 1, a[-2], b[-1], a[-1])
