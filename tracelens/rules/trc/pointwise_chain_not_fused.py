"""TRC010 pointwise-chain-not-fused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.chrome_trace import BackwardNode, Operator, PythonFunction
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.trc._chains import REMEDIES, Chains, has_penalty
from tracelens.rules.trc._lines import Line, holding, launching
from tracelens.rules.trc._loss import APART, Loss, loss_of
from tracelens.traces.chains import work_of
from tracelens.traces.host_chains import SUMS
from tracelens.traces.measured import Chain, Window
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.rows import KernelTime, Timeline
from tracelens.traces.sequences import KernelSequence
from tracelens.traces.sites import LaunchedAt
from tracelens.traces.views import COMPUTING, computing, on_each, stories, where_of
from tracelens.words import and_more, length, percent

__all__ = ["PointwiseChainNotFused"]

MIN_SHARE = 0.05
MIN_SEQUENCES = 10
#: ... or, where they take this share of the computing, of which they have as many kernels.
MUCH = 0.2
#: Share of the GPU's time in a printed table.
MIN_PRINTED = 0.3
#: What fusing kernels behind products and between rows must save at most to be told, as a share.
MIN_SAVED = 0.1
#: ... and how much more than the elementwise ones among them, which are told otherwise.
MORE = 1.5
#: Share of the computing from which on the loss over many classes is told.
MIN_LOSS = 0.15
#: A kernel that torch or Triton generated is fused already.
GENERATED = "triton_"
#: On the CPU: share of the trace, and milliseconds.
MIN_CPU_SHARE = 0.2
MIN_CPU_MS = 1.0
MAX_TOLD = 4
MAX_NAMED = 8
MAX_BEHIND = 2
#: How differences are squared and added up.
_DISTANCES = {("sub", "pow", "sum"), ("sub", "mul", "sum")}
#: What ends an optimizer's update of one tensor, and the scores of unfused attention; and the share
#: of such sequences from which on they are told as part of that.
_UPDATES = re.compile("addcdiv")
_SOFTMAX = re.compile("softmax", re.IGNORECASE)
ALL_BUT = 0.9
#: What draws random numbers, and its share of a trace of the CPU from which on Inductor's own
#: generator costs more than fusing saves; and that of dropout from which on nothing is saved.
_DRAWN = re.compile("aten::(?:normal|uniform|random|exponential)_")
_DROPPED = "aten::bernoulli_"
MIN_DRAWN = 0.05
MIN_DROPPED = 0.1


class PointwiseChainNotFused(Rule):
    """Elementwise kernels over the same elements run one after the other.

    ## Why it matters
    Each kernel reads its input from memory and writes its output back; a fused kernel would do so
    once. Three or more in a row with alike grids are what ``torch.compile`` makes one kernel of.

    ## What it looks like
        {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, at::native::binary_internal::MulFunctor<float> > >(int)", "ts": 100.0, "dur": 12.0, "pid": 0, "tid": 7, "args": {"grid": [4096, 1, 1]}}
        {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", "ts": 114.0, "dur": 12.0, "pid": 0, "tid": 7, "args": {"grid": [4096, 1, 1]}}
        {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)", "ts": 128.0, "dur": 11.0, "pid": 0, "tid": 7, "args": {"grid": [4096, 1, 1]}}

    ## When it is harmless
    Alike grids are taken for the same elements: that is likely, not certain. Blocks may differ by a factor
    of four, since kernels take differently many elements per thread; where the trace has no grids (ROCm),
    whatever follows each other counts. The same operator many
    times over belongs to different tensors, as in an optimizer, and does not count; nor do sequences
    that take less than 5 % of its computing, or fewer than 10 of them unless they take a fifth. Where no such chain takes much,
    normalization, activation and sums behind convolutions are looked at, from a tenth on that fusing
    them could save; on the CPU, too (four layers of 64 channels, one thread, torch 2.13: 185 ms, compiled
    157, frozen 106). A loss over more than 1,024 classes is told by itself, from 15 % on: softmax and
    logarithm as two kernels, or `log_softmax` that nothing around it is fused with.

    ## What to do
    Compile the function that holds the chain.

    ## How a live run confirms it
    The program runs compiled. Confirmed when the kernels per step and the step's time fall.

    ## See also
    TRC002 where launching them is the price, IND002 for what follows a product.
    """  # noqa: E501 -- the excerpt is events of a trace

    code = "TRC010"
    name = "pointwise-chain-not-fused"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = Chains
    remedies = REMEDIES

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        windows: Table[Window],
        printed: Table[PrintedProfile],
        timelines: Table[Timeline],
        chains: Table[Chain],
        following: Table[KernelSequence],
        nodes: Table[BackwardNode],
        frames: Table[PythonFunction],
        kernels: Table[KernelTime],
        operators: Table[Operator],
        lines: Table[LaunchedAt],
    ) -> Iterator[Finding]:
        """Yield one finding per trace in which such sequences take time."""
        del profiles
        for table in printed:
            yield from self._printed(table)
        for window in windows:
            source = window.first.input
            of_it = [row for row in chains.within(source) if len(set(row.record.kernels)) > 1]
            of_it.sort(key=lambda row: (-row.record.ms, row.record.kernels))
            busy = computing(timelines, source)
            ms = sum(row.record.ms for row in of_it)
            times = sum(row.record.count for row in of_it)
            whole, penalty = window.record.ms, has_penalty(nodes.within(source))
            alone = ms - (window.record.optimizer_ms or 0.0)
            if not busy and alone >= max(MIN_CPU_MS, MIN_CPU_SHARE * whole):
                line = holding(frames, source, whole, alone)
                took = {str(row.record): row.ms / whole for row in operators.within(source)}
                yield self._finding(of_it, alone, whole, took, line=line, penalty=penalty)
                continue
            ran = sum(row.record.count * len(row.record.kernels) for row in of_it)
            often = times >= MIN_SEQUENCES or (ms >= MUCH * busy and ran >= MIN_SEQUENCES)
            told = busy and ms >= MIN_SHARE * busy and often
            if busy or whole > 0:
                trains = any(True for _ in nodes.within(source))
                rows = list(following.within(source))
                loss = loss_of(kernels, rows, source)
                if busy and loss.ms >= MIN_LOSS * busy:
                    yield on_each(self._loss(loss, busy), timelines, source)
                    rows = [row for row in rows if not _in_loss(row.record, loss)]
                least = MORE * _save(of_it) if told else 0.0
                wider = self._behind(rows, busy or whole, least, on_cpu=not busy, trains=trains)
                if wider is not None:
                    yield on_each(wider, timelines, source)
                    continue
            if told:
                place = _line(lines, source, of_it)
                found = self._finding(of_it, ms, busy, penalty=penalty, launched=place)
                yield on_each(found, timelines, source)

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        """Yield what share eager mode's elementwise kernels are, where nothing is generated."""
        told, whole = row.record, row.record.device_ms
        rows = told.of(lambda name: "elementwise_kernel" in name)
        ms, calls = sum(one.device_ms for one in rows), sum(one.calls for one in rows)
        generated = told.compiled or told.of(lambda name: name.startswith(GENERATED))
        if not whole or ms < MIN_PRINTED * whole or calls < MIN_SEQUENCES or generated:
            return
        share, of = min(1.0, ms / whole), "the GPU's time in the table"
        data = Chains(kernels=calls, sequences=0, ms=ms, rest_ms=ms, of_ms=whole)
        yield self.finding(
            "printed",
            title=f"elementwise kernels of eager mode take {percent(share)} of {of}",
            message=f"{calls:,} of them take {length(ms)}, each of which reads its input from "
            "memory and writes its output back. Compiled, those that follow each other are one.",
            confidence=Confidence.MEDIUM,
            count=calls,
            evidence=[told.table.quote()],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )

    def _behind(
        self,
        rows: list[Seen[KernelSequence]],
        busy: float,
        least: float,
        *,
        on_cpu: bool,
        trains: bool,
    ) -> Finding | None:
        """Return the normalization, activation and sum behind products, if they take much.

        ``least`` is what they must save at least, milliseconds: more than chains do alone.
        """
        rows = [row for row in rows if row.record.behind and _is_eager(row.record)]
        rows.sort(key=lambda row: (-row.record.rest_ms, row.record.kernels))
        frozen = on_cpu and not trains  # then all of it goes into the convolution
        saved = sum(row.record.saves_ms if frozen else row.record.rest_ms for row in rows)
        times = sum(row.record.n for row in rows)
        if saved < max(least, MIN_SAVED * busy) or times < MIN_SEQUENCES:
            return None
        kernels = sum(row.record.n * len(row.record.kernels) for row in rows)
        ms = sum(row.record.sum_ms for row in rows)
        scores = sum(row.record.rest_ms for row in rows if _SOFTMAX.search(row.record.kernels[-1]))
        data = Chains(
            kernels=kernels,
            sequences=times,
            ms=ms,
            rest_ms=saved,
            of_ms=busy,
            frozen=frozen,
            part_of="scores" if scores >= ALL_BUT * saved else "",
        )
        what, of = ("operators", "the trace") if on_cpu else ("kernels", COMPUTING)
        named: defaultdict[str, int] = defaultdict(int)
        for row in rows:
            names = " + ".join(f"`{name}`" for name in row.record.kernels[:MAX_NAMED])
            named[names] += row.record.n
        most = list(named.items())[:MAX_BEHIND]
        told = "; ".join(f"{names}, {n} times" for names, n in most)
        return self.finding(
            "behind",
            title=f"{kernels:,} {what} run in {times:,} sequences that could be fewer",
            message=(
                f"{what.capitalize()} that work on each element, or on rows of them, follow each "
                f"other behind products and convolutions. "
                f"{'Folded into these' if frozen else 'As one each'}, they take up to "
                f"{length(saved)} less, {percent(saved / busy)} of {of}. Most of it: {told}."
            ),
            confidence=Confidence.MEDIUM,
            count=times,
            evidence=_firsts([(row, row.record.n) for row in rows], "of them")[:MAX_BEHIND],
            cost=Cost(ms=saved, share=saved / busy, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )

    def _loss(self, loss: Loss, busy: float) -> Finding:
        apart = loss.how == APART
        n = sum(row.record.n for row in loss.rows)
        what = (
            "softmax and logarithm, one after the other,"
            if apart
            else "log_softmax over many classes"
        )
        why = (
            "The probabilities of all classes are written, and read again for the logarithm"
            f"{', forward and backward' if loss.backward else ''}."
            if apart
            else "What is around it (a copy in float32, the choice of the target) goes over all "
            "classes once more each."
        )
        told = ", ".join(
            f"`{row.record.name}` {length(row.record.sum_ms)}" for row in loss.rows[:MAX_TOLD]
        )
        return self.finding(
            "loss",
            title=f"{what} {'take' if apart else 'takes'} {percent(loss.ms / busy)} of {COMPUTING}",
            message=f"{told}. {why}",
            confidence=Confidence.MEDIUM,
            count=n,
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in loss.rows[:MAX_TOLD]
            ],
            cost=Cost(
                ms=loss.saved_ms, share=loss.saved_ms / busy, basis="estimated", of=COMPUTING
            ),
            advice=self.advise(
                data := Chains(
                    kernels=n,
                    sequences=n,
                    ms=loss.ms,
                    rest_ms=loss.saved_ms,
                    of_ms=busy,
                    loss=loss.how,
                )
            ),
            data=data,
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Copies among them are fused, too."""
        return stories(["unfused"], finding)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Updates of one parameter at a time, and attention that is computed unfused."""
        part_of = finding.data.get("part_of", "")
        return stories([str(part_of)], finding) if part_of else ()

    def _finding(
        self,
        rows: list[Seen[Chain]],
        ms: float,
        busy: float,
        took: dict[str, float] | None = None,
        *,
        line: Seen[PythonFunction] | None = None,
        penalty: bool = False,
        launched: Line | None = None,
    ) -> Finding:
        """Tell of sequences: ``took`` are the shares of operators of the CPU, None for a GPU."""
        on_cpu = took is not None
        drawn = sum(share for name, share in (took or {}).items() if _DRAWN.fullmatch(name))
        kernels = sum(row.record.count * len(row.record.kernels) for row in rows)
        times = sum(row.record.count for row in rows)
        share = min(1.0, ms / busy)  # threads add up
        saved = min(_save(rows), ms, busy)
        alike = "" if on_cpu else " over about as many elements"
        what, of = ("operators", "the trace") if on_cpu else ("kernels", COMPUTING)
        alikes: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        for row in rows:
            alikes[_names(row.record)][0] += row.record.count
            alikes[_names(row.record)][1] += row.record.ms
        most = list(alikes.items())[:MAX_TOLD]
        told = "; ".join(f"{names}, {n:.0f} times, {length(us)}" for names, (n, us) in most)
        squared = sum(row.record.ms for row in rows if row.record.kernels in _DISTANCES)
        updates = sum(row.record.ms for row in rows if _UPDATES.search(row.record.kernels[-1]))
        data = Chains(
            kernels=kernels,
            sequences=times,
            ms=ms,
            rest_ms=saved,
            of_ms=busy,
            distances=on_cpu and squared >= ms / 2,
            draws=drawn >= MIN_DRAWN,
            part_of="updates" if updates >= ALL_BUT * ms else "",
            penalty=penalty,
            drops=(took or {}).get(_DROPPED, 0.0) >= MIN_DROPPED,
        )
        summed = on_cpu and any(row.record.kernels[-1] in SUMS for row in rows)
        sums = ", and sums of their results," if summed else ""
        return self.finding(
            "chains",
            title=f"{kernels:,} elementwise {what} run in {times:,} sequences, not fused",
            message=(
                f"Elementwise {what}{alike}{sums} follow each other and take "
                f"{length(ms)}, {percent(share)} of {of}. Most of it: {told}."
                f"{launched.told if launched is not None else ''}"
            ),
            where=where_of(str(line.record)) if line is not None else launched and launched.where,
            confidence=Confidence.MEDIUM,
            count=times,
            evidence=_firsts([(row, row.record.count) for row in rows], "such sequences")[
                :MAX_TOLD
            ],
            cost=Cost(ms=saved, share=saved / busy, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )


def _line(lines: Table[LaunchedAt], source: str, chains: list[Seen[Chain]]) -> Line:
    """Return where elementwise kernels of what such sequences do are launched."""
    names = {name for row in chains for name in row.record.kernels}
    rows = [row.record for row in lines.within(source)]
    rows = [row for row in rows if work_of(row.kernel) in names or row.kernel in names]
    return launching(rows, sum(row.device_ms for row in rows))


def _firsts(rows: Sequence[tuple[Seen[Any], int]], what: str) -> list[EvidenceLine]:
    """Return the kernels that sequences begin with, each once."""
    firsts: dict[int, tuple[Seen[Any], int]] = {}
    for row, n in rows:
        first, before = firsts.get(row.first.line, (row, 0))
        firsts[row.first.line] = first, before + n
    return [row.quote(f"begins {n} {what}") for row, n in firsts.values()]


def _in_loss(row: KernelSequence, loss: Loss) -> bool:
    return any(each.record.name in row.kernels for each in loss.rows)


def _is_eager(row: KernelSequence) -> bool:
    return not any(name.startswith(GENERATED) for name in row.kernels)


def _names(chain: Chain) -> str:
    more = and_more(len(chain.kernels), MAX_NAMED)
    return " + ".join(f"`{name}`" for name in chain.kernels[:MAX_NAMED]) + more


def _save(rows: list[Seen[Chain]]) -> float:
    """Return what fusing each sequence into one kernel saves at most."""
    return sum(row.record.ms * (1 - 1 / len(row.record.kernels)) for row in rows)
