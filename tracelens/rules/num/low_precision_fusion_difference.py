"""NUM001 low-precision-fusion-difference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.logs.compile_errors import TOLERANCES
from tracelens.logs.graph_code import FxGraph, TensorType
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.logs.compile_errors import Failure, LogError
    from tracelens.logs.torch_notes import TorchNote
    from tracelens.logs.warnings import TorchWarning

__all__ = ["LowPrecisionFusionDifference"]

#: A larger difference is more than rounding explains, for results around 1.
MOST = 0.125
#: What torch says where its own comparison fails.
_FAILED = re.compile(r"\b[Aa]ccuracy failed\b|RMSE \(res-fp64\): |\bbad accuracy detected")
_RMSE = re.compile(
    r"RMSE \(res-fp64\): (?P<res>\d{1,18}\.\d{1,9}), \(ref-fp64\): (?P<ref>\d{1,18}\.\d{1,9})"
)
#: No rounding makes these of numbers.
_LOST = re.compile(r"RMSE \(res-fp64\): (?:nan|inf), \(ref-fp64\): \d")
_ROUNDED = (
    "A result of compiled code is further from the one in float64 (`res-fp64`) than eager code's "
    "is (`ref-fp64`), by more than the tolerance. In float16 and bfloat16 that mostly is rounding: "
    "fused code rounds once, eager code after every operator. Where the first number is many times "
    "the second, or in float32, it may be a bug of the compiler."
)
_NO_NUMBERS = (
    "Compiled code gives NaN or infinity (`res-fp64`) where eager code gives numbers (`ref-fp64`). "
    "That is no rounding of a last digit: an overflow, memory that is not set, or a bug of the "
    "compiler."
)


class LowPrecisionFusionDifference(Rule):
    """Compiled and eager results differ: fused kernels round less often, or draw other numbers.

    ## Why it matters
    Eager code rounds to bfloat16 or float16 after every operator. A fused kernel keeps float32 in
    registers and rounds once, at the end: its result is another one, mostly the better one. Random
    numbers come from another generator than in eager code. Neither is a bug, and both look like one
    in a comparison.

    ## What it looks like
    A comparison that fails by units of the last place, or what Inductor says of its generator:

        Traceback (most recent call last):
          File "/home/ana/proj/compare.py", line 34, in main
            torch.testing.assert_close(compiled, chain(x))
        AssertionError: Tensor-likes are not close!

        Mismatched elements: 4 / 4096 (0.1%)
        Greatest absolute difference: 0.0048828125 at index (2032,) (up to 1e-05 allowed)
        Greatest relative difference: 0.0218505859375 at index (2040,) (up to 0.016 allowed)

    ## When it is harmless
    Always, which is why it is information; but for torch's own check (of its benchmarks, and of
    TORCHDYNAMO_REPRO_LEVEL=4), which compares with float64 and is a warning. Not reported
    are differences above 0.125, and those of float32: these may be bugs. Whether they are bfloat16
    or float16 is read off the tolerance of the comparison, or off the graphs.

    ## What to do
    Compare with a float64 or float32 reference instead of eager code; or let compiled code round,
    and draw, as eager code does, for the comparison only.

    ## How a live run confirms it
    The program compares once more with both settings. Confirmed when the difference is gone or
    falls.

    ## See also
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """

    code = "NUM001"
    name = "low-precision-fusion-difference"
    severity = Severity.INFO
    moved_by: ClassVar = {
        "failures.topic": {"not-close"},
        "warnings.topic": {"triton-random"},
        "errors": (),
        "notes": (),
    }
    unconfirmable = "the comparison is in the program: set both settings, and compare again"

    class Data(FindingData):
        """A failed comparison of compiled and eager results, or other random numbers."""

        is_random: bool
        #: ``bf16`` or ``f16``.
        dtype: str = ""
        greatest: float | None = None
        #: Torch itself compared, for its minifier or its benchmarks.
        checked: bool = False
        #: Compiled code gives NaN or infinity where eager code gives numbers.
        lost: bool = False

    remedies = (
        Remedy(
            id="round-as-eager",
            text="For a comparison, let compiled code round as eager code does.",
            when="a comparison failed",
            applies=lambda data: not (data.is_random or data.lost),
            setting="torch._inductor.config.emulate_precision_casts = True",
            env="TORCHINDUCTOR_EMULATE_PRECISION_CASTS=1",
            since="2.6",
            basis="tested",
            proof="tests/advice/NUM001/round-as-eager.py",
        ),
        Remedy(
            id="minify",
            text="Let torch find the smallest graph that differs, and report that.",
            when="torch's own comparison failed",
            applies=lambda data: data.checked,
            env="TORCHDYNAMO_REPRO_AFTER=aot TORCHDYNAMO_REPRO_LEVEL=4",
            since="2.0",
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
        ),
        Remedy(
            id="eager-generator",
            text="For a comparison, let compiled code use eager code's generator; it is slower.",
            when="random numbers differ",
            applies=lambda data: data.is_random,
            setting="torch._inductor.config.fallback_random = True",
            proof="https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_faq.html",
        ),
    )

    def check(
        self,
        *,
        failures: Table[Failure],
        warnings: Table[TorchWarning],
        graphs: Table[FxGraph],
        errors: Table[LogError],
        notes: Table[TorchNote],
    ) -> Iterator[Finding]:
        """Yield one finding for failed comparisons of each type, and one for random numbers."""
        yield from self._checked([*errors, *notes])
        for row in failures:
            if row.record.topic == "not-close" and (row.record.greatest or 0.0) <= MOST:
                dtype = _tolerated(row) or _of_graphs(row, graphs)
                if dtype:
                    yield self._compared(row, dtype)
        random = warnings.where(lambda one: one.topic == "triton-random")
        if len(random):
            data = self.Data(is_random=True)
            yield self.finding(
                "random",
                title="compiled code draws other random numbers than eager code",
                message=(
                    "Dropout and the like use Triton's generator: with the same seed, results "
                    "differ from those of eager code."
                ),
                count=random.count,
                evidence=[row.quote() for row in few(random)],
                advice=self.advise(data),
                data=data,
            )

    def _checked(self, rows: list[Seen[LogError] | Seen[TorchNote]]) -> Iterator[Finding]:
        """Yield what torch's own check of a graph says: of benchmarks, and for the minifier."""
        held = [row for row in rows if _FAILED.search(row.text)]
        if not held:
            return
        measured = [found for row in held for found in _RMSE.finditer(row.text)]
        worst = max(measured, key=lambda one: float(one["res"]), default=None)
        said = f": RMSE {worst['res']}, and {worst['ref']} for eager code" if worst else ""
        lost = any(_LOST.search(row.text) for row in held)
        if lost:
            said = ": NaN or infinity where eager code gives numbers"
        data = self.Data(is_random=False, checked=True, lost=lost)
        yield self.finding(
            "checked",
            title=f"torch's own comparison of compiled with eager results failed{said}",
            message=_NO_NUMBERS if lost else _ROUNDED,
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            count=sum(row.count for row in held),
            evidence=[row.quote() for row in few(held)],
            advice=self.advise(data),
            data=data,
        )

    def _compared(self, row: Seen[Failure], dtype: str) -> Finding:
        record = row.record
        most = f" The greatest difference is {record.greatest:.2g}." if record.greatest else ""
        lines = row.text.split("\n")
        at = next((n for n, line in enumerate(lines) if "not close" in line), 0)
        data = self.Data(is_random=False, dtype=dtype, greatest=record.greatest)
        return self.finding(
            dtype,
            title=f"compiled and eager {dtype} results differ by rounding",
            message=(
                f"A comparison of {dtype} results fails.{most} A fused kernel keeps float32 where "
                f"eager code rounds to {dtype} after every operator."
            ),
            confidence=Confidence.MEDIUM,
            where=user_code.where(user_code.best(record.stack_frames)),
            count=row.count,
            evidence=[row.quote(at=at)],
            advice=self.advise(data),
            data=data,
        )


def _tolerated(row: Seen[Failure]) -> str:
    return next((dtype for words, dtype in TOLERANCES.items() if words in row.text), "")


def _of_graphs(row: Seen[Failure], graphs: Table[FxGraph]) -> str:
    """Return the short type of a graph's inputs, where the comparison does not tell."""
    for graph in graphs.within(row.first.input):
        for parameter in graph.record.inputs:
            if isinstance(parameter.type, TensorType) and parameter.type.dtype in {"bf16", "f16"}:
                return parameter.type.dtype
    return ""
