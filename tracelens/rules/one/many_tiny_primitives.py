"""ONE015 many-tiny-primitives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.onednn.data import PrimitiveData
from tracelens.onednn.implementations import COMPUTE, Grade
from tracelens.onednn.runs import Runs, groups, times
from tracelens.onednn.summary import quote
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import few, length, percent

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["ManyTinyPrimitives"]

#: Shorter than this, calling a primitive costs as much as running it. In milliseconds.
TINY_MS = 0.02
#: Tiny primitives per iteration from which on their number is the problem.
MIN_PER_ITERATION = 100
#: Repetitions that make an iteration.
MIN_ITERATIONS = 3
#: Parts of all executions, and of their time, that are tiny.
MIN_SHARE = 0.8
MIN_TIME = 0.5
#: A product of fewer operations than this takes one core a fraction of a millisecond.
SMALL_FLOPS = 4_000_000
#: Operations per millisecond below which starting a small product costs more than the product:
#: one core of any machine with vector units does ten times as much.
SLOW_FLOPS_PER_MS = 2_000_000
#: Below this, no hardware computes: an emulator does.
EMULATED_FLOPS_PER_MS = 300_000
#: Such products are reported from this median and this number of executions on. One that takes
#: longer waited for a core (ENV001).
MIN_SLOW_MS = 0.1
MAX_SLOW_MS = 1.0
MIN_SLOW = 3


class ManyTinyPrimitives(Rule):
    """Hundreds of primitives per iteration take microseconds each: calling them is what costs.

    ## Why it matters
    Around each primitive, torch prepares tensors and arguments, looks the primitive up and starts
    the threads: some microseconds, whatever the size. When the work is as short, the threads and
    the vector units wait for the caller, and a faster kernel changes nothing.

    ## What it looks like
    The same few lines, thousands of times, each with a time of microseconds:

        onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user attr-post-ops:sum,,8x64:64x64,0.00195312

    Or a few lines of small products at a rate that one core exceeds tenfold: a 256x64 by 64x16
    product in half a millisecond is 1 GFLOP/s.

    ## When it is harmless
    When the iteration is fast enough as it is. The log does not hold the time between primitives
    (time stamps, where they were asked for, are not read),
    so the loss is not known: with a trace, compare their sum with the step. Printing a line per
    primitive itself takes some microseconds, which makes this look worse than it is. Fewer than 100
    products per iteration are not reported, and neither are logs of autotuning: Inductor runs its
    candidates hundreds of times.

    ## What to do
    Do more per call: larger batches, one product for several layers. In compiled code, the C++
    wrapper makes calls cheaper. Use fewer threads: starting them costs more than such work.

    ## How a live run confirms it
    The workload runs with the C++ wrapper, and with one thread. Confirmed when the step gets faster
    and the sum of the primitives does not.

    ## See also
    <https://docs.pytorch.org/tutorials/unstable/inductor_cpp_wrapper_tutorial.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "ONE015"
    name = "many-tiny-primitives"
    severity = Severity.INFO
    claim = "time"
    experiment = Experiment(
        Knob("C++ wrapper", config={"torch._inductor.config.cpp_wrapper": True}), structure="stays"
    )

    class Data(PrimitiveData):
        """The most frequent tiny product; the time is that of all of them."""

        products: int
        per_iteration: int
        median_ms: float
        #: They take far longer than their work, however many they are.
        is_slow: bool = False
        #: They take half of all of oneDNN's time, or more.
        is_most: bool = False

    remedies = (
        Remedy(
            id="more-per-call",
            text="Do more per call: larger batches, or one product for several layers.",
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
        Remedy(
            id="cpp-wrapper",
            text="Where Inductor compiled the code, use its C++ wrapper.",
            when="compiled",
            applies=lambda data: data.is_compiled is True and data.uses_inductor is not False,
            setting="torch._inductor.config.cpp_wrapper = True",
            env="TORCHINDUCTOR_CPP_WRAPPER=1",
            since="2.1",
            proof="https://docs.pytorch.org/tutorials/unstable/inductor_cpp_wrapper_tutorial.html",
            knob=experiment.knob,
        ),
        Remedy(
            id="one-thread",
            text="Compare with one thread.",
            when="the log does not say one thread",
            applies=lambda data: data.threads != 1,
            env="OMP_NUM_THREADS=1",
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
            knob=Knob("one thread", env={"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}),
        ),
        Remedy(
            id="without-onednn",
            text="Compare with ATen's own products: for such sizes, a call of oneDNN may cost more "
            "than it saves. The setting is for all layers.",
            when="small products at a low rate, which take half of oneDNN's time",
            applies=lambda data: data.is_slow and data.is_most,
            setting="torch.backends.mkldnn.enabled = False",
            proof="https://github.com/pytorch/pytorch/issues/123143",
        ),
    )

    def check(
        self,
        execs: Table[PrimitiveExec],
        *,
        tunings: Table[AutotuneTable],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding for all tiny products."""
        if len(tunings):
            return
        products = [group for group in groups(execs) if group.run.primitive in COMPUTE]
        repeated = [group for group in products if group.count >= MIN_ITERATIONS]
        iterations = min((group.count for group in repeated), default=0)
        tiny = [group for group in repeated if 0 <= group.times.median < TINY_MS]
        count = sum(group.count for group in tiny)
        ms, whole = sum(group.ms for group in tiny), sum(group.ms for group in products)
        if (
            not iterations
            or count < MIN_PER_ITERATION * iterations
            or count < MIN_SHARE * sum(group.count for group in products)
            or ms < MIN_TIME * whole
        ):
            yield from self._slow(products, run, sum(row.ms for row in execs))
            return
        tiny.sort(key=lambda group: -group.count)
        data = self.Data.about(
            run,
            [group.rows[0] for group in tiny],
            ms=ms,
            products=count,
            per_iteration=count // iterations,
            median_ms=tiny[0].times.median,
        )
        yield self.finding(
            "products",
            title=f"about {count // iterations} tiny products per iteration",
            message=(
                f"{times(count, 'product')} with a median below {TINY_MS * 1e3:.0f} microseconds, "
                f"{percent(count / sum(group.count for group in products))} of all; together "
                f"{length(ms)}. The most frequent is {tiny[0].label}, "
                f"{length(tiny[0].times.median)} each. Calling them may take longer than "
                "running them."
            ),
            confidence=Confidence.LOW,
            count=count,
            evidence=[quote(group.rows[0], _often(group)) for group in few(tiny)],
            advice=self.advise(data),
            data=data,
        )

    def _slow(self, products: list[Runs], run: Table[RunFacts], spent: float) -> Iterator[Finding]:
        """Yield the finding about small products that take far longer than their work.

        ``spent`` are the milliseconds of all of oneDNN's executions.
        """
        slow = sorted(filter(_is_slow, products), key=lambda group: -group.ms)
        ms, count = sum(group.ms for group in slow), sum(group.count for group in slow)
        if not slow or ms < MIN_TIME * sum(group.ms for group in products):
            return
        worst = slow[0]
        rate = (worst.run.flops or 0) / worst.times.median / 1e6
        data = self.Data.about(
            run,
            [group.rows[0] for group in slow],
            ms=ms,
            products=count,
            per_iteration=0,
            median_ms=worst.times.median,
            is_slow=True,
            is_most=ms >= spent / 2,
        )
        yield self.finding(
            "slow",
            title=f"small products run at {rate:.2g} GFLOP/s: starting them costs most",
            message=(
                f"{times(count, 'product')} of less than {SMALL_FLOPS / 1e6:.0f} million "
                f"operations took {length(ms)}. The slowest is {worst.label}, "
                f"{length(worst.times.median)} each; one core computes that in a tenth of the "
                "time. The rest is most likely the start of the threads and of the library."
            ),
            confidence=Confidence.LOW,
            count=count,
            evidence=[quote(group.rows[0], _often(group)) for group in slow[:3]],
            advice=self.advise(data),
            data=data,
        )


def _is_slow(group: Runs) -> bool:
    """Whether a small product took far longer than its work, on a fast implementation."""
    flops, median = group.run.flops or 0, group.times.median
    if flops < EMULATED_FLOPS_PER_MS * median:
        return False
    return (
        group.count >= MIN_SLOW
        and 0 < flops <= SMALL_FLOPS
        and MIN_SLOW_MS <= median < MAX_SLOW_MS
        and flops < SLOW_FLOPS_PER_MS * median
        and group.grade("") is Grade.OPTIMISED
    )


def _often(group: Runs) -> str:
    return f"{group.count} times, {length(group.times.median)} each"
