"""TUN002 library-kernel-wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.inductor.autotune_search import first_of_each, lost, spent
from tracelens.inductor.autotune_tables import implausible, label
from tracelens.inductor.epilogues import (
    TemplateCall,
    Winners,
    makes,
    quote,
    template_calls,
    unfused,
)
from tracelens.inductor.tuning_data import TuningData
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.output_code import OutputModule
from tracelens.remedies import Remedy
from tracelens.report import Advice, Confidence, Cost, EvidenceLine, Finding, Severity
from tracelens.rules import Rule
from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = ["LibraryKernelWins"]

#: Tables told apart in a message and quoted.
MAX_TOLD = 4


class LibraryKernelWins(Rule):
    """A library kernel beat every template: the search for this shape bought nothing.

    ## Why it matters
    ``mode="max-autotune"`` compiles and measures Inductor's own templates against the library.
    Where the library wins, the compiled model is the same as without the search, which took its
    seconds; and an activation after the product stays a kernel of its own, where a template could
    take it in.

    ## What it looks like
    The first row is a call into a library (``mm``, ``addmm``, ``_mkl_linear``,
    ``_linear_pointwise``), not a generated kernel (``triton_...``, ``cpp_...``):

        AUTOTUNE packed_linear(128x512, 1459233x1, 512x512)
          _mkl_linear 0.7478 ms 100.0%
          cpp_CppMicroGemmFP32Vec_0 0.8649 ms 86.5%
        SingleProcess AUTOTUNE benchmarking takes 12.1937 seconds and 0.0001 seconds precompiling

    ## When it is harmless
    Always, for the step time. It is worth acting on where start-up time counts. Shapes on which a
    template won are told in a note of severity ``none``: which one, by how much, and whether what
    follows the product went into it.

    ## What to do
    Nothing, or leave the search out for models whose shapes the library wins anyway.

    ## How a live run confirms it
    The product alone is run with the template forced, and with the library's kernel forced.
    Confirmed when the library's takes less time; refuted when the template is as fast here.

    ## See also
    IND002 for the kernel that is left over, TUN001 for tables that cannot be believed, TUN009 for
    searches that are repeated, whose seconds are not counted here.
    """

    code = "TUN002"
    name = "library-kernel-wins"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="autotune",
        confirms="the library's kernel is faster than the template",
        refutes="the template is as fast",
        leaves_open="the template cannot be made here",
    )

    class Data(TuningData):
        """The shapes that libraries won, or those that templates won."""

        #: Shapes, and all that were tuned.
        won: int
        tuned: int
        by_library: bool
        #: Seconds of the searches that bought nothing.
        seconds: float = 0.0
        #: No template won anywhere.
        is_total: bool = False

    remedies = (
        Remedy(
            id="library-only",
            text="Leave the templates out of the search, if start-up time matters.",
            when="a library won every shape",
            applies=lambda data: data.by_library and data.is_total,
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN",
            basis="tested",
            proof="tests/advice/TUN002/library-only.py",
            knob=Knob(
                "libraries only",
                config={"torch._inductor.config.max_autotune_gemm_backends": "ATEN"},
            ),
        ),
        Remedy(
            id="keep-choices",
            text="Keep the choices of one start for the next ones: let the cache folder outlive "
            "the process.",
            when="templates won other shapes",
            applies=lambda data: data.by_library and not data.is_total,
            proof="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
    )

    def check(
        self,
        tables: Table[AutotuneTable],
        *,
        modules: Table[OutputModule],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding about the shapes that libraries win, and a note about the others."""
        library: list[Seen[AutotuneTable]] = []
        templates: list[Seen[AutotuneTable]] = []
        for row in tables:
            if row.record.best is not None:
                (library if lost(row.record) else templates).append(row)
        of = len(library) + len(templates)
        if library:
            seconds = sum(spent(table) for table in first_of_each(row.record for row in library))
            data = self.Data.about(
                run,
                library,
                won=len(library),
                tuned=of,
                by_library=True,
                seconds=seconds,
                is_total=not templates,
            )
            yield self._library(library, data, modules)
        if templates:
            data = self.Data.about(run, templates, by_library=False, won=len(templates), tuned=of)
            yield self._templates(templates, data, modules)

    def _library(
        self, rows: list[Seen[AutotuneTable]], data: Data, modules: Table[OutputModule]
    ) -> Finding:
        seconds = data.seconds
        told = "; ".join(_told(row.record) for row in rows[:MAX_TOLD])
        left = _left_over(rows, modules)
        doubtful = sum(1 for row in rows if implausible(row.record))
        message = f"{told}. The search took {length(1000 * seconds)}." if seconds else f"{told}."
        if left:
            message += f" What follows the product stays a kernel of its own: {', '.join(left)}."
        if doubtful:
            message += f" {doubtful} of these tables cannot be believed: see TUN001."
        return self.finding(
            "library",
            title=f"a library kernel won {_of(len(rows), data.tuned)}",
            message=message,
            confidence=Confidence.LOW if doubtful == len(rows) else Confidence.HIGH,
            count=len(rows),
            evidence=[_quote(row) for row in rows[:MAX_TOLD]],
            cost=Cost(ms=seconds * 1e3, basis="measured", of="tuning time at start-up")
            if seconds
            else None,
            advice=self.advise(data),
            data=data,
        )

    def _templates(
        self, rows: list[Seen[AutotuneTable]], data: Data, modules: Table[OutputModule]
    ) -> Finding:
        calls = [call for module in modules for call in template_calls(module)]
        told, lines = [], []
        for row in rows[:MAX_TOLD]:
            found = next((c for c in calls if makes(row.record.gemm, c.content, c.operands)), None)
            told.append(_told(row.record) + (f", {_inside(found)}" if found else ""))
            lines.append(_quote(row))
            lines += [quote(found.seen, found.step, found.epilogue)] if found else []
        doubtful = sum(1 for row in rows if implausible(row.record))
        doubt = f" {doubtful} of these tables cannot be believed: see TUN001." if doubtful else ""
        if not any(row.record.sizes for row in rows):
            return self._pasted(rows, data, f"{'; '.join(told)}.{doubt}", lines)
        return self.finding(
            "template",
            title=f"a template won {_of(len(rows), data.tuned)}",
            message=f"{'; '.join(told)}.{doubt}",
            harmless="the search paid: the kernel that was chosen is the fastest one"
            if any(len(row.record.ranked) > 1 for row in rows)
            else "no other candidate is shown: whether the search paid is not known",
            count=len(rows),
            evidence=lines,
            data=data,
        )

    def _pasted(
        self, rows: list[Seen[AutotuneTable]], data: Data, told: str, lines: list[EvidenceLine]
    ) -> Finding:
        """Return what tables tell whose heads were not pasted, and with them the sizes."""
        plain = any("ALLOW_TF32=False" in c.parameters for row in rows for c in row.record.choices)
        tf32 = (
            " They are timed without TF32: if the product is of float32, "
            "torch.set_float32_matmul_precision('high') lets it use tensor cores."
            if plain
            else ""
        )
        failed = sum(1 for row in rows for c in row.record.choices if not c.ran)
        left_out = (
            f" {failed} without a time (`inf`) did not run, most often for want of shared memory: "
            "such candidates are left out, which is harmless."
            if failed
            else ""
        )
        one = rows[0].record.best
        return self.finding(
            "template",
            title=f"a template is the fastest: `{one.kernel}`"
            if one is not None and len(rows) == 1
            else f"a template won {_of(len(rows), data.tuned)}",
            message=f"{told} That is what the search is for, and no error; its choice is kept in "
            f"Inductor's cache.{left_out}{tf32} The operator's sizes stand in the line above them.",
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            count=len(rows),
            evidence=lines,
            advice=[
                Advice(
                    id="whole-table",
                    text="Post the tables from their first line on, the one that begins with "
                    "AUTOTUNE. If the search takes long, keep its cache from start to start.",
                    env="TORCHINDUCTOR_CACHE_DIR=/var/tmp/inductor",
                    basis="source",
                )
            ],
            data=data,
        )


def _of(won: int, of: int) -> str:
    return f"{won} of {of} tuned shapes" if of > 1 else "the only tuned shape"


def _told(table: AutotuneTable) -> str:
    """Say who won on one shape, and by how much."""
    best, second = table.best, table.ranked[1] if len(table.ranked) > 1 else None
    if best is None:
        return label(table)
    if second is None:
        failed = sum(1 for choice in table.choices if not choice.ran)
        others = f"the other {failed} did not run" if failed else "alone"
        return f"{label(table)}: `{best.kernel}`, {length(best.ms)}, {others}"
    ratio = f", {table.lead:.3g} times as long" if table.lead is not None else ""
    # Statistics alone do not name who is between the winner and the best of Triton's.
    between = table.stats is not None and (table.stats.best_triton_pos or 0) >= len(table.choices)
    then = "the best of Triton's is" if between else "then"
    return (
        f"{label(table)}: `{best.kernel}` {length(best.ms)}, {then} `{second.kernel}` "
        f"{length(second.ms)}{ratio}"
    )


def _inside(call: TemplateCall) -> str:
    return f"compiled into `{call.kernel.kernel}`, {call.epilogue}"


def _left_over(rows: list[Seen[AutotuneTable]], modules: Table[OutputModule]) -> list[str]:
    """Return the kernels that re-read what the winning library calls wrote."""
    winners = Winners(rows)
    pairs = [pair for module in modules for pair in unfused(module)]
    return list(dict.fromkeys(f"`{p.kernel.kernel}`" for p in pairs if winners.of(p) is not None))


def _quote(row: Seen[AutotuneTable]) -> EvidenceLine:
    best = row.record.best
    return row.quote(label(row.record).replace("`", ""), at=best.at if best is not None else 0)
