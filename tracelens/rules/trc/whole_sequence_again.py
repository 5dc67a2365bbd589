"""TRC034 whole-sequence-again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import BackwardNode, Operator, PythonFunction
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._lines import busiest, told
from tracelens.traces.measured import KernelWork, Window
from tracelens.traces.views import where_of
from tracelens.words import length

__all__ = ["WholeSequenceAgain"]

#: Lengths that follow each other from which on a sequence grows, and is not one of many lengths.
MIN_LENGTHS = 8
#: Share of the trace that the products take at least, and milliseconds.
MIN_SHARE = 0.05
MIN_MS = 1.0
#: Operators that choose a new element, or add it: lengths that are only tried out need neither.
_GROWS = frozenset({"argmax", "cat", "max", "multinomial", "sort", "topk"})
#: Rows of the first factor, what is summed, and columns of a product of two matrices.
_PRODUCT = re.compile(r"(\d+)x(\d+) by (\d+x\d+)")


class Anew(FindingData):
    """Products with the same weights over a sequence that grows."""

    first: int
    last: int
    lengths: int
    ms: float
    #: Of products that run for each length, too, and do not grow.
    constant_ms: float = 0.0


@dataclass
class _Weights:
    """The products with weights of one shape, in the order in which their lengths came."""

    rows: list[Seen[KernelWork]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """What all take."""
        return sum(row.record.ms for row in self.rows)

    @property
    def growth(self) -> int:
        """By how much each length is larger than the one before; 0 where that is not so."""
        steps = {
            after - before for before, after in zip(self.lengths, self.lengths[1:], strict=False)
        }
        grows = len(self.lengths) >= MIN_LENGTHS and len(steps) == 1
        return max(0, *steps) if grows else 0

    @property
    def needless(self) -> float:
        """What the rows take that were computed before, reckoned by their number."""
        pairs = zip(self.rows, self.lengths, strict=True)
        return sum(row.record.ms * max(0, rows - self.growth) / rows for row, rows in pairs)


class WholeSequenceAgain(Rule):
    """For each new token the model computes the whole sequence anew: there is no KV cache.

    ## Why it matters
    A token depends on those before it through their keys and values alone, which do not change. Kept,
    each token costs one row of every product; computed anew, as many rows as there are tokens: the
    work grows with the square of the length.

    ## What it looks like
    Products with the same weights, and one more row per sequence each time:

        {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 100.0, "dur": 90.0, "pid": 1, "tid": 1, "args": {"External id": 7, "Input type": ["float", "float", "float"], "Input Dims": [[512], [96, 128], [128, 512]]}}
        {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 300.0, "dur": 91.0, "pid": 1, "tid": 1, "args": {"External id": 9, "Input type": ["float", "float", "float"], "Input Dims": [[512], [97, 128], [128, 512]]}}

    ## When it is harmless
    For a few tokens, or where each new element changes the results of those before it, as in a model
    that looks in both directions. Fewer than 8 lengths that follow each other, lengths in another
    order, and programs that train are no sequence that grows. Shapes are known only with
    ``record_shapes=True``; programs on the CPU are looked at.

    ## What to do
    Keep the keys and values of earlier tokens, and give the model the new ones alone.

    ## How a live run confirms it
    The program runs with a cache. Confirmed when the products keep their size and a token gets faster.

    ## See also
    TRC014 for caches that are copied as they grow, RCP001 for sizes that recompile.
    <https://huggingface.co/docs/transformers/kv_cache>
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC034"
    name = "whole-sequence-again"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = Anew
    remedies = (
        Remedy(
            id="cache",
            text="Keep the keys and values of earlier tokens, and give the model the new tokens "
            "alone: transformers does with `use_cache=True`.",
            code="output = model(ids[:, -1:], past_key_values=cache, use_cache=True)",
            proof="https://huggingface.co/docs/transformers/kv_cache",
        ),
        Remedy(
            id="once",
            text="Compute once, before the loop, what does not depend on the tokens that are made: "
            "the encoder's result, or features of an image.",
            when="products that do not grow run for each length, too",
            applies=lambda data: data.constant_ms > 0,
            code="memory = model.encode(source)  # once\n"
            "logits = model.decode(tokens, memory)  # for each token",
            basis="untestable",
            proof="it depends on the model",
        ),
    )

    def check(
        self,
        works: Table[KernelWork],
        *,
        windows: Table[Window],
        nodes: Table[BackwardNode],
        operators: Table[Operator],
        frames: Table[PythonFunction],
    ) -> Iterator[Finding]:
        """Yield one finding per trace that computes a sequence anew as it grows."""
        for window in windows:
            source, whole = window.first.input, window.record.ms
            rows = [row for row in works.within(source) if row.record.on_host]
            if any(True for _ in nodes.within(source)):
                continue
            called = [row for row in operators.within(source) if row.record.op in _GROWS]
            new = max((row.count for row in called), default=0)
            found = [one for one in _by_weights(rows) if one.growth and len(one.lengths) <= new]
            ms = sum(one.ms for one in found)
            if ms >= max(MIN_MS, MIN_SHARE * whole):
                line = busiest(frames, source, whole)
                yield self._finding(found, _constant(rows, found), whole, line)

    def _finding(
        self,
        found: list[_Weights],
        constant: float,
        whole: float,
        line: Seen[PythonFunction] | None,
    ) -> Finding:
        found.sort(key=lambda one: -one.ms)
        most = found[0]
        ms, needless = sum(one.ms for one in found), sum(one.needless for one in found) + constant
        first, last, n = most.lengths[0], most.lengths[-1], len(most.lengths)
        share = min(1.0, needless / whole)
        data = Anew(first=first, last=last, lengths=n, ms=ms, constant_ms=constant)
        again = (
            f" Products that do not grow run for each of them, too: {length(constant)} after the "
            "first time."
            if constant
            else ""
        )
        where = f" {told(line, whole)}." if line is not None else ""
        return self.finding(
            "sequence",
            title=f"a sequence is computed anew {n} times as it grows: there is no KV cache",
            message=(
                f"Products with the same weights are of {first:,} rows, then of "
                f"{most.lengths[1]:,}, and so on to {last:,}: all of the sequence for each new "
                f"token, and {length(ms)} of {length(whole)}.{again}{where}"
            ),
            where=where_of(str(line.record)) if line is not None else None,
            confidence=Confidence.MEDIUM,
            count=n,
            evidence=[
                row.quote(f"{row.record.shape}, {row.record.count} times, {length(row.record.ms)}")
                for row in (most.rows[0], most.rows[-1])
            ],
            cost=Cost(ms=share * whole, share=share, basis="upper_bound", of="the trace"),
            advice=self.advise(data),
            data=data,
        )


def _by_weights(rows: Iterable[Seen[KernelWork]]) -> Iterable[_Weights]:
    """Return the products of two matrices by what is multiplied with, in order of time.

    Each length of a sequence that grows comes equally often; an encoder's comes more often.
    """
    found: dict[tuple[str, str, int], _Weights] = {}
    for row in rows:
        match = _PRODUCT.fullmatch(row.record.shape)
        if match is not None and row.record.kind == "product":
            weights = found.setdefault((row.record.what, match[3], row.record.count), _Weights())
            weights.rows.append(row)
            weights.lengths.append(int(match[1]))
    return found.values()


def _constant(rows: Iterable[Seen[KernelWork]], found: list[_Weights]) -> float:
    """Return what products of more rows than a token has take, after their first time.

    They run for each length, and their rows are the same.
    """
    times = max((len(one.lengths) for one in found), default=0)
    row_of_token = max((one.growth for one in found), default=0)
    same = [
        one.rows[0].record
        for one in _by_weights(rows)
        if len(one.rows) == 1
        and one.lengths[0] > row_of_token
        and one.rows[0].record.count >= times
        and one.rows[0].record.count % times == 0
    ]
    return sum(work.ms * (1 - 1 / times) for work in same)
