"""A oneDNN descriptor as a program: the operator of torch that runs the same primitive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tracelens.experiment import Knob
from tracelens.live.micro import Pair, Program, Shown
from tracelens.live.micro._code import FLOATS, Variant, program
from tracelens.live.micro._operators import code
from tracelens.live.micro._reading import primitives, worst
from tracelens.logs._isa import limit
from tracelens.logs.onednn_verbose import Primitive
from tracelens.onednn.implementations import COMPUTE, Grade, grade
from tracelens.report import Finding, Report

__all__ = ["build"]

#: The variable that limits the instruction sets oneDNN uses.
LIMIT = "ONEDNN_MAX_CPU_ISA"


class _Change(NamedTuple):
    """What the unchanged and the changed program do."""

    before: Variant
    after: Variant


#: Calls of a recorded run: a reorder before each is one for every call.
CALLS = 5
_R = Variant.RECORDED
#: Form -> what to compare. Of several forms, the first that torch has operators for is taken.
_CHANGES: Mapping[str, _Change] = {
    "unsigned": _Change(_R, Variant.UNSIGNED),
    "float32": _Change(_R, Variant.FLOAT32),
    "without": _Change(_R, Variant.WITHOUT),
    "channels_last": _Change(_R, Variant.CHANNELS_LAST),
    "once": _Change(_R, Variant.ONCE),
    "packed": _Change(Variant.PLAIN, Variant.PACKED),
}
#: Weights that are packed once: the defect shows in more than one line, and a rule's own verdict
#: says whether it is there.
PACKED = "packed"
#: The instruction sets that oneDNN may use are limited.
ISA = "isa"


def build(finding: Finding, report: Report, form: str = "") -> Pair | None:
    """Return the primitive of ``finding`` in two programs; None where torch cannot run it.

    Args:
        finding: The finding.
        report: Its report.
        form: What is changed: names of changes, the best first, or :data:`ISA`.
    """
    run = _subject(finding, report, form)
    if run is None:
        return None
    isa = report.environment.isa or ""
    cap = limit(isa)
    env = {LIMIT: cap} if cap else {}
    if form == ISA:
        made = code(run)
        if made is None or not cap:
            return None
        text = program(_title(run), made)
        knob = Knob(f"{LIMIT} not set", env={LIMIT: None})
        before = Program(f"{_label(run)} with {LIMIT}={cap}", text, env)
        after = Program(f"{_label(run)} without {LIMIT}", text)
        return Pair(
            before,
            after,
            knob,
            lambda seen: int(seen.environment.isa == isa),
            Shown((",info,cpu,isa:", isa), instead=(",info,cpu,isa:",)),
            machine="x86_64",
        )
    known = [_CHANGES[each] for each in form.split(",") if each in _CHANGES]
    for before_variant, after_variant in known:
        if not _applies(run, after_variant):
            continue
        before_code, after_code = code(run, before_variant), code(run, after_variant)
        if before_code is None or after_code is None or before_code == after_code:
            continue
        return Pair(
            Program(_label(run), program(_title(run), before_code), env),
            Program(
                f"{_label(run)}, {after_variant}",
                program(f"{_title(run)} Changed: {after_variant}.", after_code),
                env,
            ),
            Knob(
                str(after_variant),
                changes_results=after_variant in {Variant.FLOAT32, Variant.UNSIGNED},
            ),
            _shows(finding, run, isa, by_rule=form == PACKED),
            _lines(finding, run, by_rule=form == PACKED),
            machine=_machine(isa),
        )
    return None


def _subject(finding: Finding, report: Report, form: str) -> Primitive | None:
    """Return the primitive that a finding is about; None where its evidence shows none."""
    found = list(primitives(finding))
    if form == PACKED:  # the reorder, and the primitive that reads its result
        found = [run for run in found if run.primitive in COMPUTE]
    if found:
        return found[0]
    return worst(report) if form == ISA else None


def _applies(run: Primitive, variant: Variant) -> bool:
    """Whether ``variant`` changes anything about ``run``."""
    types = set(run.dtypes.values())
    if variant is Variant.UNSIGNED:
        return run.dtypes.get("src") == "s8"
    if variant is Variant.FLOAT32:
        return types != {"f32"} and types <= FLOATS
    if variant is Variant.WITHOUT:
        return types == {"f32"}
    return True


def _label(run: Primitive) -> str:
    return f"{run.primitive} {run.precision} {run.shape}"


def _title(run: Primitive) -> str:
    return f"oneDNN's {_label(run)}, from torch."


def _machine(isa: str) -> str:
    return "aarch64" if isa.startswith("AArch64") else "x86_64" if isa else ""


def _shows(finding: Finding, run: Primitive, isa: str, *, by_rule: bool) -> Callable[[Report], int]:
    """Return what counts the executions that a report shows of what the finding says."""
    wanted = grade(run.primitive, run.impl, isa)

    def in_verdicts(report: Report) -> int:
        return sum(other.count for other in report.findings if other.code == finding.code)

    def in_table(report: Report) -> int:
        return sum(
            row["count"]
            for row in report.tables.get("primitives", ())
            if row["primitive"] == run.primitive
            and row["shape"] == run.shape
            and _same(row, run, wanted)
        )

    return in_verdicts if by_rule else in_table


def _lines(finding: Finding, run: Primitive, *, by_rule: bool) -> Shown:
    """Return what stands in the lines that show the finding."""
    reorders = [one for one in primitives(finding) if one.primitive == "reorder"]
    if by_rule and reorders:
        wanted = ("exec,cpu,reorder,", f",{reorders[0].shape},")
        return Shown(wanted, times=CALLS, instead=("exec,cpu,",))
    instead = ("exec,cpu,", f",{run.shape},")
    return Shown((f"exec,cpu,{run.primitive},{run.impl},", f",{run.shape},"), instead=instead)


def _same(row: Mapping[str, object], run: Primitive, wanted: Grade) -> bool:
    """Whether the executions of a row of the table are what the finding is about."""
    if wanted is not Grade.OPTIMISED and run.primitive != "rnn":
        return bool(row["class"] == wanted)
    return bool(row["impl"] == run.impl and row["dtypes"] == run.precision)
