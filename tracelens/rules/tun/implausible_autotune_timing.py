"""TUN001 implausible-autotune-timing."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.autotune_tables import implausible, label
from tracelens.logs.autotune import AutotuneTable, Choice
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.report import Advice, Confidence, EvidenceLine, Finding
from tracelens.rules import Rule

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

    def check(
        self, tables: Table[AutotuneTable], *, execs: Table[PrimitiveExec]
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
        yield self.finding(
            "autotune",
            title=f"{which} {verb} times that no kernel can take",
            message=(
                f"`{worst.kernel}` on {label(row.record)} took {worst.ms:.3g} ms: "
                f"{row.record.gflops(worst) or 0:.2g} GFLOP/s, where plain scalar code reaches 1. "
                f"The machine must have been busy with other work, so {_doubt(wrong)}."
            ),
            confidence=Confidence.HIGH if len(choices) > 1 else Confidence.MEDIUM,
            count=len(wrong),
            evidence=[_quote(row, choices[-1]) for row, choices in wrong[:MAX_QUOTED]],
            advice=_ADVICE,
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


_ADVICE = (
    Advice(
        text="Tune again on an idle machine, pinned, with no more threads than free cores.",
        env="OMP_NUM_THREADS=<cores>",
        code="taskset -c 0-3 python your_script.py",
    ),
    Advice(
        text="Keep the result of that run, and remove what the busy run has cached.",
        env="TORCHINDUCTOR_CACHE_DIR=<folder>",
    ),
)
