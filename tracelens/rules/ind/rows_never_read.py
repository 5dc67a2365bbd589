"""IND032 rows-never-read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest
from tracelens.inductor.origins import Lines
from tracelens.inductor.unread import Unread, unread
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Cost, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph

__all__ = ["RowsNeverRead"]

#: Parts of the multiplications of a graph from which it is a finding, and a warning.
PART = 0.1
LARGE = 0.3
#: Multiplications that take no time worth a word: some tenths of a millisecond of one core.
FEW = 4_000_000
MAX_QUOTED = 3


class RowsNeverRead(Rule):
    """A layer is computed for all rows, and most of its result is never read.

    ## Why it matters
    Indexing after a layer does not make the layer smaller: the library computes the whole product,
    and the kernels behind it read what they need. The head of a language model is often its
    largest layer, and one token of each sequence is all that decoding needs of it.

    ## What it looks like
    In the generated code, a library call writes a buffer, and the kernel that reads it goes over
    few of its rows: 4 of 128 here, of the 2,048 elements each:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     buf0 = empty_strided_cpu((128, 2048), (2048, 1), torch.float32)
        [0/0] [__output_code]     extern_kernels.addmm(arg1_1, arg2_1, arg0_1, alpha=1, beta=1, out=buf0)
        [0/0] [__output_code]     cpp_fused_relu_0(buf0, buf1)

    ## When it is harmless
    Where more than one row in four may be read, the unread rows are less than a tenth of the
    multiplications of the graph's layers, or below four million, nothing is said. Nor is it where
    sizes are symbolic, another call of a library reads the result, columns are left out instead of
    rows, or on a GPU, whose kernels do not show what they read.

    ## What to do
    Index the layer's input, not its result. Models of transformers take ``logits_to_keep=1``.

    ## How a live run confirms it
    The same step with the index moved. Confirmed when the product has fewer rows, and the step is
    faster.

    ## See also
    IND031 (a layer in each round of a loop), IND002 (what follows a product);
    <https://huggingface.co/docs/transformers/main/en/model_doc/llama>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND032"
    name = "rows-never-read"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """The products of the graph that computes most for nothing; the first is the largest."""

        products: int
        rows: int
        columns: int
        #: The most rows that may be read.
        read: int
        #: Multiplications for nothing per call of the graph.
        work: int
        #: The installed package that the line is in; empty for the program's own, or for no line.
        package: str = ""

    remedies = (
        Remedy(
            id="logits-to-keep",
            text="If it is the head of a causal language model, and only the last token's logits "
            "are used, pass `logits_to_keep=1` to the model. `generate` does so by itself.",
            when="a layer in transformers",
            applies=lambda data: data.package == "transformers",
            proof="https://huggingface.co/docs/transformers/main/en/model_doc/llama",
        ),
        Remedy(
            id="select-first",
            text="Take the rows that are used before the layer: index its input, as in "
            "`layer(x[:, -1])` for `layer(x)[:, -1]`. The same goes for a norm or an activation "
            "between the two.",
            when="layers of the program's own",
            applies=lambda data: data.package != "transformers",
            basis="tested",
            proof="tests/advice/IND032/select-first.py",
            edits=True,
        ),
    )

    def check(self, modules: Table[OutputModule], *, graphs: Table[FxGraph]) -> Iterator[Finding]:
        """Yield one finding, for the graph that computes most for nothing."""
        found = heaviest(
            (one for row in modules for one in unread(row)),
            lambda one: id(one.seen),
            lambda one: one.work,
        )
        share = sum(one.share for one in found)
        if share < PART or sum(one.work for one in found) < FEW:
            return
        yield self._finding(sorted(found, key=lambda one: -one.work), share, graphs.derived(Lines))

    def _finding(self, found: list[Unread], share: float, lines: Lines) -> Finding:
        first = found[0]
        frame = user_code.best(lines.product(first.seen, first.step.comment))
        data = self.Data(
            products=len(found),
            rows=first.rows,
            columns=first.columns,
            read=first.read,
            work=sum(one.work for one in found),
            package=user_code.package(frame.file) if frame is not None else "",
        )
        more = f" So it is with {plural(len(found) - 1, 'more product')}." if found[1:] else ""
        return self.finding(
            first.call.op,
            first.columns,
            title=f"a layer computes {first.rows:,} rows, of which at most {first.read:,} are read",
            message=f"`{first.call.target}` writes {first.rows:,} rows of {first.columns:,} to "
            f"`{first.content.name}`, and the kernels that read it go over at most "
            f"{plural(first.read, 'row')}: {share:.0%} of the multiplications of the graph's "
            f"layers are for nothing.{more}",
            severity=Severity.WARNING if share >= LARGE else Severity.INFO,
            where=user_code.where(frame),
            evidence=[line for one in found[:MAX_QUOTED] for line in _quotes(one)],
            cost=Cost(share=share, basis="estimated", of="the multiplications of layers"),
            advice=self.advise(data),
            data=data,
        )


def _quotes(one: Unread) -> Iterable[EvidenceLine]:
    reader = one.content.readers[0]
    return (
        quote(one.seen, one.step, f"writes {one.rows:,} rows"),
        quote(one.seen, reader, f"reads at most {one.read:,} of them"),
    )
