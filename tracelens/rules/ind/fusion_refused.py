"""IND018 fusion-refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from tracelens.dynamo import user_code
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.fusions import Pair, apart
from tracelens.logs import fusion as log
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import plural

__all__ = ["FusionRefused"]

#: Elements that both nodes go over, from which passing them through memory costs something.
LARGE = 1 << 18
MAX_QUOTED = 3


class FusionRefused(Rule):
    """Two large nodes that share data were not fused, for a reason that may be in reach.

    ## Why it matters
    What is not fused goes through memory in between. Inductor names its reason for every pair that
    it tried, thousands of times; a few of them are about large tensors and about something that can
    be changed: a layout, a shape, an order of loops.

    ## What it looks like
    In the fusion log, the last word on a pair:

        [0/0] [__fusion] cannot fuse op0 with op1: numel/rnumel mismatch (non-reduce) (1024, 2048), (1, 2048)

    ## When it is harmless
    Nearly always, so it is a note, and only for pairs of at least 262,144 elements each that were
    not fused in a later round or by way of a third node. Nodes with others between them, nodes
    without shared data, and library calls cannot be fused at all and are not counted. The rest is
    counted in one note of severity ``none``.

    ## What to do
    For a mismatch of sizes, compute both results over the same dimensions. For memory that does not
    match, bring the tensors in one layout. Independent small nodes can run in one kernel with
    ``combo_kernels`` (GPU).

    ## How a live run confirms it
    The number of nodes after fusion and the step time with the change. Confirmed when both fall.

    ## See also
    IND002 (library calls and what follows), IND019 (many small kernels).
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND018"
    name = "fusion-refused"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "loops are reordered after fusion",
            config={"torch._inductor.config.loop_ordering_after_fusion": True},
        ),
        structure="fewer",
    )

    class Data(FindingData):
        """Pairs of nodes that stayed apart for one reason, or the small ones for any."""

        reason: str
        pairs: int
        #: That both nodes of the first pair go over; 0 where the log does not say.
        elements: int
        is_large: bool

    remedies = (
        Remedy(
            id="reorder-loops",
            text="Let Inductor exchange loops to fuse more; newer versions do so by default.",
            when="large nodes",
            applies=lambda data: data.is_large,
            setting="torch._inductor.config.loop_ordering_after_fusion = True",
            env="TORCHINDUCTOR_LOOP_ORDERING_AFTER_FUSION=1",
            since="2.5",
            proof="https://github.com/pytorch/pytorch/pull/126255",
            knob=experiment.knob,
        ),
        Remedy(
            id="same-dimensions",
            text="Compute both results over the same dimensions, in one layout.",
            when="large nodes",
            applies=lambda data: data.is_large,
            proof="https://github.com/pytorch/pytorch/pull/126255",
            edits=True,
        ),
    )

    def check(
        self,
        attempts: Table[log.FusionAttempt],
        *,
        refused: Table[log.FusionRefused],
        fused: Table[log.Fused],
        candidates: Table[log.Candidate],
    ) -> Iterator[Finding]:
        """Yield one finding per reason for large pairs, and one note for the others."""
        del attempts
        groups: dict[str, dict[tuple[str, str], Pair]] = {}
        for pair in apart(refused, fused, candidates):
            reason = _kind(pair.row.record.reason)
            names = (pair.row.record.first, pair.row.record.second)
            groups.setdefault(reason, {})[names] = pair
        small: Counter[str] = Counter()
        for reason, pairs in groups.items():
            large = [pair for pair in pairs.values() if pair.elements >= LARGE]
            small[reason] += len(pairs) - len(large)
            if large:
                yield self._finding(reason, sorted(large, key=lambda pair: -pair.elements))
        rest = {reason: count for reason, count in small.most_common() if count}
        if rest:
            yield self._note(rest, groups)

    def _finding(self, reason: str, pairs: list[Pair]) -> Finding:
        first = pairs[0]
        nodes = (node for pair in pairs for node in (pair.first,) if node is not None)
        frames = [frame for node in nodes for frame in node.stack]
        data = self.Data(reason=reason, pairs=len(pairs), elements=first.elements, is_large=True)
        return self.finding(
            reason,
            title=f"{plural(len(pairs), 'pair')} of large nodes not fused: {reason}",
            message=(
                f"`{first.row.record.first}` and `{first.row.record.second}` go over at least "
                f"{first.elements:,} elements each: {first.row.record.reason}."
            ),
            confidence=Confidence.MEDIUM,
            count=len(pairs),
            where=user_code.where(user_code.best(frames)),
            evidence=[_quote(pair) for pair in pairs[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )

    def _note(
        self, rest: dict[str, int], groups: dict[str, dict[tuple[str, str], Pair]]
    ) -> Finding:
        total = sum(rest.values())
        told = "; ".join(f"{reason} ({count})" for reason, count in list(rest.items())[:3])
        firsts = [next(iter(groups[reason].values())) for reason in rest]
        return self.finding(
            "small",
            title=f"{plural(total, 'pair')} of small nodes not fused",
            message=f"{told}.",
            harmless="so small nodes stay in a cache: nothing is to be won there",
            data=self.Data(reason=next(iter(rest)), pairs=total, elements=0, is_large=False),
            count=total,
            evidence=[_quote(pair) for pair in firsts[:MAX_QUOTED]],
        )


def _kind(reason: str) -> str:
    """Return a reason without the numbers of the pair."""
    return "".join(takewhile(lambda c: not c.isdigit(), reason)).rstrip(" (,:") or reason


def _quote(pair: Pair) -> EvidenceLine:
    return pair.row.quote(at=pair.row.record.at, place=pair.place)
