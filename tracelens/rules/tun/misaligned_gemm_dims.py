"""TUN011 misaligned-gemm-dims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.autotune_search import is_gpu
from tracelens.inductor.autotune_tables import label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs._dataflow import item_size
from tracelens.logs.autotune import AutotuneTable
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import and_more

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["MisalignedGemmDims"]

#: Bytes that a GPU loads and stores at once.
VECTOR = 16
#: Smaller sizes fill no tile anyway.
MIN_SIZE = 64
#: Milliseconds below which a product is not worth padding.
MIN_MS = 0.02
#: Tables told apart in a message and quoted.
MAX_TOLD = 3
#: Sizes told apart; a sequence length that changes would make one finding per length.
MAX_FOUND = 5

Rows = list[Seen[AutotuneTable]]


class MisalignedGemmDims(Rule):
    """A matrix product on the GPU has a size whose rows do not begin at multiples of 16 bytes.

    ## Why it matters
    Tensor cores are fed by loads of 16 bytes: 8 elements of 16 bits, 4 of float32. Where rows are
    of another length, they begin anywhere, loads and stores fall apart into smaller ones, and the
    library picks a slower kernel. The usual case is a vocabulary of 50257 entries.

    ## What it looks like
    The inner size (K) or the number of columns (N) is no multiple of 8 (16-bit types) or 4
    (float32), as 50257:

        AUTOTUNE mm(8192x768, 768x50257)
        strides: [768, 1], [1, 768]
        dtypes: torch.bfloat16, torch.bfloat16
          mm 2.1004 ms 100.0%
          triton_mm_11 2.4817 ms 84.6% ACC_TYPE='tl.float32', ALLOW_TF32=False, BLOCK_K=32, BLOCK_M=128, BLOCK_N=128, EVEN_K=True, GROUP_M=8, num_stages=3, num_warps=4

    Only products with a side of 64 or more, and of 0.02 ms or more, count; and only tables with
    templates for GPUs. The number of rows (M) is mostly the batch, and aligns nothing.

    ## When it is harmless
    Inductor pads such sizes where it measures that this pays (``shape_padding``, on by default):
    then the padded size is in the table. What is still there was found not to pay at run time, since
    every call would copy; padding the weights once in the model costs nothing per call.

    ## What to do
    Make the size a multiple of 64: round the vocabulary up, choose another width, pad the batch's
    sequences.

    ## How a live run confirms it
    The product is timed with the padded size. Confirmed when it is faster by more than 5 %; refuted
    when it takes the same time.

    ## See also
    <https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "TUN011"
    name = "misaligned-gemm-dims"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(TuningData):
        """Products with a size that is not aligned, the longest first."""

        size: int
        #: What must divide it, and the next size that does well.
        unit: int
        padded: int
        products: int

    remedies = (
        Remedy(
            id="pad",
            text=lambda data: (
                f"Pad {data.size} to {data.padded} once in the model, where it is a vocabulary or "
                "a width; pad the batch, where it is a length."
            ),
            basis="tested",
            proof="tests/advice/TUN011/pad.py",
        ),
    )

    def check(self, tables: Table[AutotuneTable], *, run: Table[RunFacts]) -> Iterator[Finding]:
        """Yield one finding per size: it is one constant of the model."""
        sizes: defaultdict[int, Rows] = defaultdict(list)
        for row in tables:
            for size in _misaligned(row.record):
                sizes[size].append(row)
        heaviest = sorted(sizes.items(), key=lambda item: -sum(map(_ms, item[1])))
        for size, rows in heaviest[:MAX_FOUND]:
            yield self._finding(size, rows, run)

    def _finding(self, size: int, rows: Rows, run: Table[RunFacts]) -> Finding:
        rows = sorted(rows, key=lambda row: -_ms(row))
        names = ", ".join(label(row.record) for row in rows[:MAX_TOLD])
        more = and_more(len(rows), MAX_TOLD)
        table = rows[0].record
        unit = _unit(table)
        what = f"{unit} elements of {table.dtype}" if table.dtype else "4 elements of any type"
        padded = (size + 63) // 64 * 64
        data = self.Data.about(run, rows, size=size, unit=unit, padded=padded, products=len(rows))
        return self.finding(
            size,
            title=f"the size {size} is no multiple of {unit} in {_products(len(rows))}",
            message=(
                f"{names}{more}: rows of {size} do not begin at multiples of 16 bytes, that is "
                f"{what}, so the GPU loads or stores them in small pieces. The next multiple of 64 "
                f"is {padded}, {(padded - size) / size:.1%} more."
            ),
            confidence=Confidence.MEDIUM if table.dtype else Confidence.LOW,
            count=len(rows),
            evidence=[_quote(row) for row in rows[:MAX_TOLD]],
            advice=self.advise(data),
            data=data,
        )


def _unit(table: AutotuneTable) -> int:
    """Return how many elements must divide a row; 4 where the data type is not known."""
    size = item_size(table.dtype) if table.dtype else 4
    return max(1, VECTOR // (size or 4))


def _misaligned(table: AutotuneTable) -> tuple[int, ...]:
    """Return which of N and K are long and not aligned."""
    gemm = table.gemm
    if gemm is None or not is_gpu(table) or table.best is None or table.best.ms < MIN_MS:
        return ()
    sizes = dict.fromkeys((gemm.n, gemm.k))
    return tuple(size for size in sizes if size >= MIN_SIZE and size % _unit(table))


def _ms(row: Seen[AutotuneTable]) -> float:
    return row.record.best.ms if row.record.best is not None else 0.0


def _products(count: int) -> str:
    return f"{count} matrix products" if count > 1 else "a matrix product"


def _quote(row: Seen[AutotuneTable]) -> EvidenceLine:
    best = row.record.best
    return row.quote(label(row.record).replace("`", ""), at=best.at if best is not None else 0)
