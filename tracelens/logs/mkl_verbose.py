"""What Intel's MKL computed, as ``MKL_VERBOSE`` prints it: matrix products that bypass oneDNN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import CountedLog, Record
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["MklCall", "MklInfo", "MklVerbose"]

#: Rows of the report's table.
MAX_ROWS = 200
_ADDRESS = late(r"0x[0-9a-f]{1,16}")
#: Milliseconds per unit.
_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
#: ``SGEMM``, ``SGEMM_BATCH_STRIDED``, ``SGEMV``, and the names that tell the operands' types.
_PRODUCT = late(
    r"(?:(?P<type>[SDCZH])(?:GEMM\w{0,30}|GEMV\w{0,30}|SYMM|SYRK|TRMM|HEMM|HERK)"
    r"|GEMM_(?P<short>BF16BF16F32|F16F16F32|F16F16F16|S8U8S32|S16S16S32)(?:_\w{1,20})?)"
)
_TYPES = {
    "S": "f32",
    "D": "f64",
    "C": "c64",
    "Z": "c128",
    "H": "f16",
    "BF16BF16F32": "bf16",
    "F16F16F32": "f16",
    "F16F16F16": "f16",
    "S8U8S32": "int8",
    "S16S16S32": "int16",
}
#: MKL cuts long lists of arguments: their bracket is not closed then.
_TIME = late(r"(?:\)|(?<=[\w,])) (\d{1,12}(?:\.\d{1,9})?)(ns|us|ms|s) ")


class MklVerbose(CountedLog):
    """One line per call into MKL, and one about the library."""

    name = "mkl_verbose"
    switch = "MKL_VERBOSE=1"
    marks = ("MKL_VERBOSE ",)

    @classmethod
    def measure(cls, line: str) -> tuple[str, float | None]:
        """Return ``line`` without addresses and time, and the time in milliseconds."""
        line = _ADDRESS.sub("0x0", line)
        if "**" in line:  # Markdown's bold
            line = line.replace("**", "")
        match = _TIME.search(line)
        if match is None:
            return line, None
        return f"{line[: match.start()]}) {line[match.end() :]}", float(match[1]) * _UNITS[match[2]]

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``mkl``: per call with its sizes, how often and how long, the longest first."""
        calls = sorted(
            evidence.table(MklCall), key=lambda seen: (-seen.ms, seen.record.routine, seen.text)
        )
        rows: list[dict[str, Any]] = [
            {
                "routine": seen.record.routine,
                "sizes": list(seen.record.sizes),
                "threads": seen.record.threads,
                "count": seen.count,
                "ms": round(seen.ms, 3),
            }
            for seen in calls[:MAX_ROWS]
        ]
        return {"mkl": rows} if rows else {}


class MklCall(Record):
    """A call: ``SGEMM`` is a product of float32 matrices, ``DGEMM`` of float64 ones."""

    routine: str
    #: As MKL got them, from the left; an address is ``0x0``.
    arguments: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda texts: tuple(p for text in texts for p in str(text).split(","))),
    ] = ()
    threads: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers before the first address: M, N and K of a product, by columns."""
        found = []
        for argument in self.arguments:
            if argument.startswith("0x"):
                break
            if is_whole(argument):
                found.append(int(argument))
        return tuple(found)

    @property
    def dtype(self) -> str:
        """The type that a product computes in, which its name begins with; empty for no product.

        ``SGEMM`` is float32; ``GEMM_BF16BF16F32`` multiplies bfloat16 and adds in float32.
        """
        match = _PRODUCT.fullmatch(self.routine)
        return "" if match is None else _TYPES[match["type"] or match["short"]]

    @property
    def shape(self) -> str:
        """``64x48:48x32`` for a product of two matrices, as torch has them; else the sizes."""
        if len(self.sizes) == 3:
            m, n, k = self.sizes
            return f"{n}x{k}:{k}x{m}"
        return "x".join(map(str, self.sizes))

    @property
    def flops(self) -> int:
        """Multiplications and additions of a real matrix product; 0 for other routines."""
        if self.routine not in {"SGEMM", "DGEMM"} or len(self.sizes) != 3:
            return 0
        m, n, k = self.sizes
        return 2 * m * n * k


class MklInfo(Record):
    """The library, and what it runs on."""

    #: ``oneMKL 2024.0 Update 2``.
    library: str
    build: str = ""
    target: str
