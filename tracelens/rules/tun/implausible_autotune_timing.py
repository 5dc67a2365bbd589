"""TUN001 implausible-autotune-timing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.autotune_tables import implausible, label
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable, Choice
from tracelens.onednn.stories import BUSY_TUNING
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["ImplausibleAutotuneTiming"]

#: Tables quoted per finding.
MAX_QUOTED = 4


class ImplausibleAutotuneTiming(Rule):
    """An AUTOTUNE table holds times that no kernel can take: the winner is random.

    ## Why it matters
    Inductor keeps the fastest candidate, for this process and in its cache. When the machine is
    busy during the search, a candidate waits for a processor in the middle of its measurement, and
    the table compares waiting times. The slower kernel may then run for as long as the cache lives.

    ## What it looks like
    The product of a 32 x 256 by a 256 x 256 matrix is 4 million operations; 35 ms for it are 0.1
    billion per second, less than plain scalar code reaches:

        AUTOTUNE packed_linear(32x256, 1459233x1, 256x256)
          cpp_CppMicroGemmFP32Vec_1 35.0124 ms 100.0%
          _mkl_linear 41.9972 ms 83.4%

    A time counts when it is 1 ms or more and means less than 1 billion operations per second.
    Triton templates are not judged: a configuration that does not suit the shape is truly that
    slow.

    ## When it is harmless
    Under an emulator everything is that slow, in proportion. A library that falls back to reference
    kernels (ONE001) is slow as well: its rows are then believed.

    ## What to do
    Tune on an idle machine, with no more threads than it has free cores, then keep the cache: set
    TORCHINDUCTOR_CACHE_DIR to a folder that lasts, and delete what the busy run has left in it.

    ## How a live run confirms it
    The search is made again as it was, and with one thread, by your program or, where the log tells
    the number of threads, by a small one. Confirmed when only the first has such times: the product
    does not take that long, the threads waited for each other. Refuted when one thread is as slow.
    A machine that was busy with other programs, and is not now, shows nothing: tune again, and keep
    that.

    ## See also
    ENV001 for the usual reason, TUN002 for what the tables say where they can be believed.
    """

    code = "TUN001"
    name = "implausible-autotune-timing"
    # Not a claim about time: busy machines make it truer.
    claim = "structure"
    experiment = Experiment(
        Knob("one thread", env={"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}),
        time="any",
        micro="autotune",
        confirms="with one thread no candidate takes that long",
        refutes="with one thread candidates take as long",
        leaves_open="the times are believable now: other programs had kept the processors busy",
    )

    class Data(TuningData):
        """The tables that cannot be believed, the worst first."""

        #: The slowest impossible candidate of the first table.
        kernel: str
        gflops: float
        #: A candidate with an impossible time won.
        is_random: bool

    remedies = (
        Remedy(
            id="one-thread",
            text="Tune again on an idle machine, with no more threads than free cores.",
            when="the log does not say one thread",
            applies=lambda data: data.threads != 1,
            env="OMP_NUM_THREADS=1",
            proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
            knob=experiment.knob,
        ),
        Remedy(
            id="idle-machine",
            text="Tune again on an idle machine, on a core of its own: "
            "`taskset -c 0 python your_script.py`.",
            basis="untestable",
            proof="needs a machine that is busy with other programs",
        ),
        Remedy(
            id="clear-cache",
            text="Tune into an empty cache folder, and keep that: the old one holds what the busy "
            "run has chosen.",
            env="TORCHINDUCTOR_CACHE_DIR=/path/of/a/new/folder",
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
    )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is the cause of."""
        del finding
        return [BUSY_TUNING]

    def check(
        self,
        tables: Table[AutotuneTable],
        *,
        execs: Table[PrimitiveExec],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding for all tables: they have one cause."""
        slow_library = any(row.record.impl.startswith("ref") for row in execs)
        wrong = [
            (row, choices)
            for row in tables
            if (choices := _unbelievable(row.record, slow_library=slow_library))
        ]
        if not wrong:
            return
        row, choices = max(wrong, key=lambda pair: pair[1][-1].ms)
        worst = choices[-1]
        of = sum(1 for row in tables if row.record.ranked)
        which = "the AUTOTUNE table" if of == 1 else f"{len(wrong)} of {of} AUTOTUNE tables"
        verb = "holds" if len(wrong) == 1 else "hold"
        others = [other for other, _ in wrong if other is not row]
        data = self.Data.about(
            run,
            [row, *others],
            kernel=worst.kernel,
            gflops=row.record.gflops(worst) or 0.0,
            is_random=any(r.record.best in found for r, found in wrong),
        )
        yield self.finding(
            "autotune",
            title=f"{which} {verb} times that no kernel can take",
            message=(
                f"`{worst.kernel}` on {label(row.record)} took {length(worst.ms)}: "
                f"{row.record.gflops(worst) or 0:.2g} GFLOP/s, where plain scalar code reaches 1. "
                f"The machine must have been busy with other work, so {_doubt(wrong)}."
            ),
            confidence=Confidence.HIGH if len(choices) > 1 else Confidence.MEDIUM,
            count=len(wrong),
            evidence=[_quote(row, choices[-1]) for row, choices in wrong[:MAX_QUOTED]],
            advice=self.advise(data),
            data=data,
        )


def _unbelievable(table: AutotuneTable, *, slow_library: bool) -> tuple[Choice, ...]:
    found = implausible(table)
    return tuple(choice for choice in found if choice.is_template or not slow_library)


def _doubt(wrong: list[tuple[Seen[AutotuneTable], tuple[Choice, ...]]]) -> str:
    """Say what follows for the winners."""
    random = [row.record for row, choices in wrong if row.record.best in choices]
    if not random:
        return "the losers may be faster than they look"
    names = ", ".join(dict.fromkeys(f"`{t.best.kernel}`" for t in random if t.best is not None))
    return f"the winner ({names}) is a matter of chance"


def _quote(row: Seen[AutotuneTable], choice: Choice) -> EvidenceLine:
    return row.quote(f"{row.record.gflops(choice) or 0:.2g} GFLOP/s", at=choice.at)
