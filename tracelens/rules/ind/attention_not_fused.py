"""IND017 attention-not-fused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.attention import Unfused, fused_calls
from tracelens.inductor.attention_causes import (
    FUSED,
    Cause,
    by_module,
    cause_of,
    folded,
    keys_of,
    reason,
    severity,
    why,
)
from tracelens.inductor.attention_chain import plain_attention
from tracelens.inductor.attention_options import in_library, option
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import call_ms, heaviest, library_ms
from tracelens.inductor.kernel_costs import cost_of
from tracelens.inductor.origins import Lines
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.ind._attention_calls import (
    ALL_LAYERS,
    FIVE,
    FLEX,
    LAST_LAYER,
    THREE,
    WRITTEN_THREE,
)
from tracelens.words import plural, size

if TYPE_CHECKING:
    from tracelens.logs.chrome_trace import CompiledRegion
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.onednn_verbose import PrimitiveExec
    from tracelens.logs.warnings import TorchWarning
    from tracelens.traces.rows import KernelTime

__all__ = ["AttentionNotFused"]

#: What the fused CPU kernel asks for beside four dimensions.
CONTIGUOUS = "On a CPU, call .contiguous() on those whose last dimension is a permuted one."


class AttentionNotFused(Rule):
    """Attention is computed unfused: the scores are materialized.

    ## Why it matters
    The matrix of scores has a row and a column per token. Written out, it goes through memory
    several times; a fused kernel computes it tile by tile and never stores it. Memory and time grow
    with the square of the sequence length.

    ## What it looks like
    In the generated code, a kernel with a softmax stands between two products:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     extern_kernels.bmm(arg0_1, arg1_1, out=buf0)
        [0/0] [__output_code]     cpp_fused__softmax_masked_fill_mul_0(buf0, buf1)
        [0/0] [__output_code]     extern_kernels.bmm(buf1, arg2_1, out=buf2)

    Fused, it is one call of ``_scaled_dot_product_flash_attention_for_cpu`` or the like.

    ## When it is harmless
    On a CPU in training with dropout on the attention weights: no fused CPU kernel does that, and
    the same model runs fused in evaluation. That is a note where no fused kernel is in the log, and
    is folded where one is. Where the weights are needed for something else, too, a fused kernel
    would not return them; with up to 32 keys per query it may be slower: notes, both. So are, on a
    CPU, scores of less than 512 KiB in a call, or that are less than 2 % of what the graph moves,
    or of its time; below 128 KiB they are folded: a fused call was less than 0.1 ms faster. With a
    mask and up to 128 keys on a CPU, as in windows of an image, it took as long: a note as well.
    In training on a CPU the fused kernel, with its backward, was measured to be slower with fewer
    than 256 keys per query in float32, and than 1,024 in bfloat16: a note, since it saves memory.
    Scores that the next layer adds to its own are needed; those of the last layer are told where
    the line is in code of your own.
    Nor has one a gradient for what is added to the scores: a bias that is computed from the
    queries, as relative positions are, and trained on a CPU is a note.
    Scores that are capped with tanh have no fused CPU kernel: flex_attention was measured at 1.1 to
    1.6 times the time there (torch 2.13), and raises in training: a note.
    On a GPU, scores in float32 with up to 512 keys are a note: flash attention takes 16 bits alone.
    Talking heads, whose weights a convolution or a product mixes before the second product, are not
    told: no fused kernel computes that. Nor are scores or weights to which something else is done
    than to scale and mask them: the k best of a row, gates, a second softmax, a sink.
    A mixture of experts that normalizes one matrix of scores twice (dispatch and combine) is no
    attention, and is not told; nor is a softmax over another dimension than the one that the second
    product sums over, as slots do that compete for inputs. Values of another size per head than the
    queries have no fused CPU kernel. Backward graphs follow from forward ones and are not counted.

    ## What to do
    Call ``torch.nn.functional.scaled_dot_product_attention``, or choose the option of the library
    that does (``attn_implementation="sdpa"`` in transformers); of ``nn.MultiheadAttention``, pass
    ``need_weights=False``. Where the scores are changed in
    between, ``flex_attention`` inside the compiled function.

    ## How a live run confirms it
    The same step with the call replaced. Confirmed when the softmax kernel is gone and time or peak
    memory fall; refuted for sequences where they do not.

    ## See also
    IND025 (flex_attention outside of the compiled code), IND001;
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html>
    """

    code = "IND017"
    name = "attention-not-fused"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """Attentions that are computed unfused, for one cause."""

        #: ``written out``, ``dropout``, ``capped``, ``carried``, ``last`` and so on.
        cause: str
        #: ``cpu``, ``cuda`` ...
        device: str = ""
        attentions: int
        #: Bytes of the scores of the largest; None for symbolic sizes.
        bytes: int | None
        #: Keys per query; None where that is symbolic.
        keys: int | None
        #: Dimensions of the scores in the program; None where nothing shows them.
        dimensions: int | None = None
        #: torch says that float32 products without TF32 keep the fused kernel away.
        needs_tf32: bool
        #: What scales the scores is a tensor, which ``scale`` does not take.
        has_tensor_scale: bool = False
        #: The installed package that the line is in, and the line; empty for the program's own.
        package: str = ""
        file: str = ""
        line: int = 0
        #: ``nn.MultiheadAttention`` computes it, in the way that can return the weights.
        by_module: bool = False

        @property
        def is_written(self) -> bool:
            """Whether it is written out, and no option that we know changes that."""
            known = option(self.package) or self.by_module
            return self.cause == "written out" and not known

        @property
        def changes_scores(self) -> bool:
            """Whether the scores are, or may be, changed before they are normalized."""
            return self.is_written or self.cause == "capped"

        @property
        def scaled(self) -> str:
            """How scores are scaled as before."""
            if self.has_tensor_scale:
                return "multiply q by what scales the scores, a tensor here, and pass scale=1.0"
            return "scale= where it is not 1/sqrt(size)"

        @property
        def outside(self) -> str:
            """What the user of a package can do; empty for code of one's own."""
            return in_library(self.package, self.file, self.line)

    remedies = (
        Remedy(
            id="need-weights",
            text=lambda data: (
                (f"In `{data.package}`: " if data.package else "")
                + "Tell `nn.MultiheadAttention` that its second result, the weights, is not "
                "wanted: it then calls scaled_dot_product_attention."
            ),
            when="nn.MultiheadAttention, whose weights nothing reads",
            applies=lambda data: data.by_module and data.cause == "written out",
            code="y, _ = attention(query, key, value, need_weights=False)",
            since="2.0",
            basis="tested",
            proof="tests/advice/IND017/need-weights.py",
        ),
        Remedy(
            id="option",
            text=lambda data: (
                f"`{data.package}` has an option for it, and torch computes attention: "
                f"{option(data.package)}."
            ),
            when="the line is in a library whose option we know",
            applies=lambda data: (
                data.cause == "written out" and bool(option(data.package)) and not data.by_module
            ),
            since="2.0",
            proof="docs/upstream.md",
        ),
        Remedy(
            id="sdpa",
            text=lambda data: (
                f"{data.outside} torch compute it, with q, k and v as (batch, heads, length, "
                f"size); pass the mask as attn_mask=, and {data.scaled}. {CONTIGUOUS}"
            ),
            when="the program writes attention out in four dimensions, or nothing shows how many",
            applies=lambda data: data.is_written and data.dimensions in {None, FUSED},
            code="y = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
            since="2.0",
            basis="tested",
            proof="tests/advice/IND017/sdpa.py",
        ),
        Remedy(
            id="sdpa-3d",
            text=lambda data: (
                f"{data.outside} torch compute it. q, k and v have three dimensions here, and "
                "the fused kernels take four, (batch, heads, length, size): add the first one for "
                f"the call. Pass a mask as attn_mask=, and {data.scaled}. The "
                "fused CPU kernel wants the last dimension contiguous."
            ),
            when="the program writes attention out in three dimensions",
            applies=lambda data: data.is_written and data.dimensions == FUSED - 1,
            code=WRITTEN_THREE,
            since="2.0",
            basis="tested",
            proof="tests/advice/IND017/sdpa-3d.py",
        ),
        Remedy(
            id="sdpa-5d",
            text=lambda data: (
                f"{data.outside} torch compute it. The fused kernels take four dimensions, "
                "(batch, heads, length, size): fold the ones in front for the call. Pass a mask, "
                f"folded alike, as attn_mask=, and {data.scaled}."
            ),
            when="the program writes attention out in five dimensions or more",
            applies=lambda data: data.is_written and (data.dimensions or 0) > FUSED,
            code=FIVE,
            since="2.0",
            basis="tested",
            proof="tests/advice/IND017/sdpa-5d.py",
        ),
        LAST_LAYER,
        Remedy(
            id="add-dimension",
            text="Add the missing dimension for the call, and take it off the result.",
            when="scaled_dot_product_attention with three dimensions",
            applies=lambda data: data.cause == "dimensions" and data.dimensions == FUSED - 1,
            code=THREE,
            since="2.0",
            basis="tested",
            proof="tests/advice/IND017/add-dimension.py",
        ),
        Remedy(
            id="fold-dimensions",
            text="Fold the dimensions in front for the call, and unfold the result.",
            when="scaled_dot_product_attention with five dimensions or more",
            applies=lambda data: data.cause == "dimensions" and data.dimensions > FUSED,
            code=FIVE,
            since="2.0",
            basis="tested",
            proof="tests/advice/IND017/fold-dimensions.py",
        ),
        Remedy(
            id="flex",
            text="Where scores are changed in between, use flex_attention in compiled code, with "
            "four dimensions as well, and a function that changes them.",
            when="the program writes attention out, in code of your own, and not for a CPU",
            applies=lambda data: data.changes_scores and data.device != "cpu" and not data.package,
            code=FLEX,
            since="2.5",
            proof="https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html",
        ),
        Remedy(
            id="no-dropout",
            text="Set the dropout of the attention weights to 0 where the model is made, if it "
            "then learns as well.",
            when="weights are dropped at random",
            applies=lambda data: data.cause == "dropout",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        ),
        Remedy(
            id="leave-out-weights",
            text="Leave the weights out where they are only looked at; then attention can fuse.",
            when="something else reads the weights",
            applies=lambda data: data.cause == "shared",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        ),
        Remedy(
            id="what-it-takes",
            text="Look for what the fused kernels do not take: a mask that needs a gradient, "
            "head sizes or dtypes that they do not support, tensors whose last dimension is a "
            "permuted one (call .contiguous() on them).",
            when="torch decomposed scaled_dot_product_attention, and not for its dimensions",
            applies=lambda data: data.cause == "decomposed",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        ),
        Remedy(
            id="tf32",
            text="Allow TF32 for float32 products: without it, written-out attention is not "
            "matched.",
            when="torch warns of it",
            applies=lambda data: data.needs_tf32,
            setting='torch.set_float32_matmul_precision("high")',
            since="2.11",
            basis="tested",
            proof="tests/advice/IND017/tf32.py",
        ),
    )

    def check(
        self,
        modules: Table[OutputModule],
        *,
        graphs: Table[FxGraph],
        warnings: Table[TorchWarning],
        execs: Table[PrimitiveExec],
        regions: Table[CompiledRegion],
        times: Table[KernelTime],
    ) -> Iterator[Finding]:
        """Yield one finding per cause."""
        fused = any(True for row in modules for _ in fused_calls(row.record))
        lines = graphs.derived(Lines)
        groups: dict[tuple[Cause, int | None], list[Unfused]] = {}
        for row in modules:
            if row.record.graph != "backward":
                for one in plain_attention(row, lines):
                    groups.setdefault((cause_of(one), folded(one)), []).append(one)
        skipped = [w.quote() for w in warnings if "flash-attention" in w.record.text]
        for (cause, _), group in groups.items():
            found = heaviest(group, lambda one: id(one.seen), lambda one: one.scores.bytes or 0)
            ms = max(call_ms(regions), library_ms(execs, found[0].seen))
            harmless = reason(cause, found, ms, fused=fused)
            cost = cost_of({one.kernel.kernel for one in group}, times)
            judged = harmless, severity(cause, found, ms), cost
            yield self._finding(cause, found, lines, skipped, judged)

    def _finding(
        self,
        cause: Cause,
        found: list[Unfused],
        lines: Lines,
        skipped: list[EvidenceLine],
        judged: tuple[str | None, Severity, Cost | None],
    ) -> Finding:
        first = found[0]
        harmless, grave, cost = judged
        frame = user_code.best(lines.of(first.seen, first.first.comment))
        if cause is Cause.LAST and (frame is None or user_code.package(frame.file)):
            harmless = harmless or ALL_LAYERS
        calls = plural(len(found), "attention call")
        keys = keys_of(first)
        data = self.Data(
            cause=cause.value,
            device=first.kernel.device,
            attentions=len(found),
            bytes=first.scores.bytes,
            keys=keys if isinstance(keys, int) else None,
            dimensions=first.dimensions,
            package=user_code.package(frame.file) if frame else "",
            file=frame.file if frame else "",
            line=frame.line if frame else 0,
            needs_tf32=bool(skipped),
            has_tensor_scale=first.has_tensor_scale,
            by_module=by_module(first),
        )
        return self.finding(
            cause.value,
            *(f"{dimensions}-d" for dimensions in [folded(first)] if dimensions),
            title=f"{calls} computed unfused (scores materialized)",
            message=f"{_told(first, named=frame is None)} {why(cause, first)}",
            severity=grave,
            harmless=harmless,
            confidence=(
                Confidence.MEDIUM
                if cause is Cause.DECOMPOSED or not first.is_certain
                else Confidence.HIGH
            ),
            count=len(found),
            where=user_code.where(frame),
            evidence=[
                quote(first.seen, first.first, f"writes the scores, {first.scores.name}"),
                quote(first.seen, first.softmax, "reads them and writes the weights"),
                quote(first.seen, first.last, "reads the weights"),
                *skipped[:1],
            ],
            cost=cost,
            advice=() if harmless else self.advise(data),
            data=data,
        )


def _told(first: Unfused, *, named: bool) -> str:
    shape = "x".join(map(str, first.scores.size or ())) or "unknown size"
    held = f", {size(first.scores.bytes)}" if first.scores.bytes else ""
    nodes = first.first.comment.nodes if first.first.comment else ()
    name = f" of `{nodes[-1]}`" if nodes and named else ""
    return (
        f"The scores{name} ({shape}{held}) are written, normalized by a kernel of its own and "
        "read again."
    )
