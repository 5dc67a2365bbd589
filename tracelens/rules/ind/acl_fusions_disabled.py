"""IND003 acl-fusions-disabled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.inductor.epilogues import Unfused, unfused
from tracelens.inductor.graphs import heaviest, is_arm
from tracelens.inductor.origins import Lines
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import listed, plural, size

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.onednn_verbose import CpuIsa, PrimitiveExec

__all__ = ["AclFusionsDisabled"]

MAX_QUOTED = 3


class AclFusionsDisabled(Rule):
    """On AArch64 builds with the Arm Compute Library, activations are never fused into oneDNN calls.

    ## Why it matters
    Inductor registers its oneDNN fusions (activation, sum, in place) only in builds without the Arm
    Compute Library (torch 2.6 to 2.15). With it, every activation after a frozen linear layer or
    convolution is a kernel of its own, which reads the result back from memory. This is one reason,
    outside of your code, for all findings of that kind.

    ## What it looks like
    oneDNN is called with ``'none'`` as its post-op, and a kernel that only computes an activation
    follows; oneDNN says that it runs on AArch64:

        onednn_verbose,v1,info,cpu,isa:AArch64 SVE (256 bits)
        [0/0] [__output_code] def call(args):
        [0/0] [__output_code]     buf0 = torch.ops.mkldnn._linear_pointwise.default(arg0_1, _frozen_param0, None, 'none', [-1], '')
        [0/0] [__output_code]     cpp_fused_relu_0(buf0)

    ## When it is harmless
    It is by design: a post-op that the Arm Compute Library refuses would send product and post-op
    to reference code. There is no setting, so it is a note, whatever it costs. On x86, and in
    builds without the library, this rule is quiet.

    ## What to do
    Nothing in your code, and do not force the fusion. ``mode="max-autotune"`` lets Inductor's own
    templates compete, which take activations along; pytorch#180225 is about enabling the fusions.

    ## How a live run confirms it
    It cannot: it is a fact about the build, not a setting.

    ## See also
    IND002 (the same kernels elsewhere), ONE001 (reference kernels on AArch64);
    <https://github.com/pytorch/pytorch/pull/180225>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "IND003"
    name = "acl-fusions-disabled"
    severity = Severity.INFO
    unconfirmable = "it is a fact about the build, not a setting"

    class Data(FindingData):
        """Activations after oneDNN calls of the graph that moves most."""

        activations: int
        #: Written and read for them per call of the graph.
        bytes: int
        kernels: tuple[str, ...]

    remedies = (
        Remedy(
            id="templates",
            text="Let Inductor's own templates compete, which take activations along.",
            env="TORCHINDUCTOR_FREEZING=1 TORCHINDUCTOR_MAX_AUTOTUNE=1",
            since="2.4",
            basis="untestable",
            proof="needs an AArch64 machine",
        ),
    )

    def check(
        self,
        modules: Table[OutputModule],
        *,
        isas: Table[CpuIsa],
        execs: Table[PrimitiveExec],
        graphs: Table[FxGraph],
    ) -> Iterator[Finding]:
        """Yield one finding for the whole log: it is a fact about the build."""
        library = any("acl" in row.record.impl for row in execs)
        if not (library or is_arm(isas)):
            return
        pairs = [pair for row in modules for pair in unfused(row) if _is_packed(pair)]
        if not pairs:
            return
        count = len({id(pair.seen) for pair in pairs})
        pairs = heaviest(pairs, lambda pair: id(pair.seen), lambda pair: pair.bytes or 0)
        pairs.sort(key=lambda pair: -(pair.bytes or 0))
        first, lines = pairs[0], graphs.derived(Lines)
        frames = lines.of(first.seen, first.producer.comment)
        names = list(dict.fromkeys(pair.kernel.fused for pair in pairs))
        moved = sum(pair.bytes or 0 for pair in pairs)
        graph = f" in the largest of {count} graphs" if count > 1 else ""
        data = self.Data(activations=len(pairs), bytes=moved, kernels=tuple(names))
        yield self.finding(
            "acl",
            title=f"{plural(len(pairs), 'activation')} after oneDNN calls cannot be fused "
            "on AArch64",
            message=(
                f"With the Arm Compute Library, Inductor registers no such fusions, so "
                f"{listed(names)} {'runs' if len(pairs) == 1 else 'run'} separately{graph}: "
                f"{size(moved)} per call are written and read for it. No setting changes that."
            ),
            confidence=Confidence.HIGH if library else Confidence.MEDIUM,
            count=len(pairs),
            where=user_code.where(user_code.best(frames)),
            evidence=[line for pair in pairs[:MAX_QUOTED] for line in pair.quotes()]
            + [row.quote() for row in isas][:1],
            advice=self.advise(data),
            data=data,
        )


def _is_packed(pair: Unfused) -> bool:
    return pair.call.target.startswith("torch.ops.mkldnn.")
