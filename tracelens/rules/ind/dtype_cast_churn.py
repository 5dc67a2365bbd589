"""IND011 dtype-cast-churn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.inductor.epilogues import quote
from tracelens.inductor.graphs import heaviest, is_training
from tracelens.inductor.origins import Lines
from tracelens.inductor.remedies import can_freeze, freeze
from tracelens.inductor.weights import weight_of
from tracelens.logs._dataflow import Content, Dataflow
from tracelens.logs.output_code import OutputModule, Step
from tracelens.onednn.stories import FLOAT16
from tracelens.remedies import Remedy
from tracelens.report import EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import plural, size

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.graph_code import FxGraph

__all__ = ["DtypeCastChurn"]

#: Bytes read and written per call of the graph below which nobody would notice.
LARGE = 64 << 10
MAX_QUOTED = 3
_LOW = {"bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"}


class _Cast(msgspec.Struct, frozen=True):
    """An input of the graph that a kernel writes again in a smaller type."""

    seen: Seen[OutputModule]
    step: Step
    source: Content
    result: Content

    @property
    def bytes(self) -> int:
        """What is read and written for it per call of the graph."""
        return (self.source.bytes or 0) + (self.result.bytes or 0)


class DtypeCastChurn(Rule):
    """In inference, the same weights are cast to a smaller type in every call.

    ## Why it matters
    Autocast keeps weights in float32 and casts them where they are used. In a compiled graph that
    is a kernel that reads all weights and writes them again, in every call: 6 bytes are moved where
    the product itself needs 2.

    ## What it looks like
    A kernel with ``_to_copy`` in its name reads float32 inputs of the graph and writes bfloat16
    buffers, which go into products:

        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     buf0 = empty_strided_cpu((512, 256), (256, 1), torch.bfloat16)
        [0/0] [__output_code]     cpp_fused__to_copy_0(arg0_1, buf0)
        [0/0] [__output_code]     extern_kernels.mm(arg1_1, buf0, out=buf1)

    ## When it is harmless
    In training the weights change in every step and have to be cast, so this rule is quiet as soon
    as a graph of the log is differentiated. Casts of activations are part of the kernels around
    them and cost nothing. Below 64 KiB per call nothing is said; above it is a note.

    ## What to do
    Convert the model once. Freezing does the same for a CPU: constants are cast in advance.

    ## How a live run confirms it
    The same step with ``model.to(torch.bfloat16)``. Confirmed when the kernels are gone and the
    step is faster.

    ## See also
    IND004 (freezing); <https://docs.pytorch.org/docs/stable/amp.html>
    """

    code = "IND011"
    name = "dtype-cast-churn"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    class Data(InRun):
        """Weights that are cast in every call, of the graph that casts most bytes."""

        weights: int
        bytes: int
        #: What they become: ``bfloat16``.
        dtypes: str
        #: Where the graph runs: ``cpu``, ``cuda``.
        device: str

    remedies = (
        Remedy(
            id="convert-once",
            text=lambda data: (
                "Convert the model and its data once, instead of casting under autocast, and "
                "compare the results: what autocast keeps in float32 is computed in "
                f"{data.dtypes} then."
            ),
            when="bfloat16 and float16",
            applies=lambda data: data.dtypes in {"bfloat16", "float16"},
            code=lambda data: (
                f"model = model.to(torch.{data.dtypes})\n"
                f"x = x.to(torch.{data.dtypes})  # data, not ids"
            ),
            basis="tested",
            proof="tests/advice/IND011/convert-once.py",
        ),
        freeze(
            "IND011",
            text="On a CPU, or freeze it: constants are cast in advance.",
            applies=lambda data: data.device == "cpu" and can_freeze(data),
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story of a type that the CPU lacks: casting is the least of it."""
        del finding
        return [FLOAT16]

    def check(
        self,
        modules: Table[OutputModule],
        *,
        graphs: Table[FxGraph],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding for the whole log: it is one setting."""
        found = [] if is_training(modules) else [cast for row in modules for cast in _casts(row)]
        if not found:
            return
        found = heaviest(found, lambda cast: id(cast.seen), lambda cast: cast.bytes)
        found.sort(key=lambda cast: -cast.bytes)
        total = sum(cast.bytes for cast in found)
        if total < LARGE:
            return
        first = found[0]
        users = [reader.comment for reader in first.result.readers]
        frames = [frame for user in users for frame in graphs.derived(Lines).of(first.seen, user)]
        data = self.Data.of(
            run,
            weights=len(found),
            bytes=total,
            dtypes=first.result.dtype,
            device=first.seen.record.device,
        )
        yield self.finding(
            "weights",
            first.result.dtype,
            title=f"{plural(len(found), 'weight is', 'weights are')} cast to {first.result.dtype} "
            "in every call",
            message=f"{size(total)} are read and written for it per call of the graph. The largest "
            f"is `{first.source.name}` ({'x'.join(map(str, first.source.size or ()))}).",
            count=len(found),
            where=user_code.where(user_code.best(frames)),
            evidence=_quotes(found),
            advice=self.advise(data),
            data=data,
        )


def _casts(row: Seen[OutputModule]) -> Iterator[_Cast]:
    flow = row.record.flow
    for step, call in row.record.kernel_calls():
        if "_to_copy" not in call.kernel:
            continue
        given = [c for c in flow.operands(step) if c.producer is None and c.dtype == "float32"]
        for result in flow.results(step):
            source = next((c for c in given if c.size == result.size and c.count), None)
            if source is not None and result.dtype in _LOW and _is_weight(flow, result):
                given.remove(source)
                yield _Cast(row, step, source, result)


def _is_weight(flow: Dataflow, content: Content) -> bool:
    """Whether a library call takes it as the weight of a layer."""
    return any(weight_of(flow, reader) is content for reader in content.readers)


def _quotes(found: list[_Cast]) -> list[EvidenceLine]:
    steps = {id(cast.step): cast for cast in reversed(found)}
    return [
        quote(cast.seen, cast.step, f"{cast.source.name} becomes {cast.result.name}")
        for cast in sorted(steps.values(), key=lambda cast: -cast.bytes)[:MAX_QUOTED]
    ]
