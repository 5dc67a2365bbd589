"""The structural half: one recorded run of the changed program, and what its log shows."""

from __future__ import annotations

from tracelens.experiment import CALLS, Knob
from tracelens.live import matching
from tracelens.live.lab import Lab, Recorded, RunFailed
from tracelens.live.trials import Outcome, Result, Trial
from tracelens.live.workload import Side
from tracelens.report import Structure

__all__ = ["examine", "only_compiled", "without_effect"]

#: Beginnings of settings and variables that only compiled code feels.
_COMPILED = (
    "torch._dynamo.", "torch._inductor.", "torch._functorch.", "torch.compile(", "torch.fx.",
    "TORCHDYNAMO_", "TORCHINDUCTOR_", "TORCH_COMPILE", "TRITON_", CALLS["eager_first"],
)  # fmt: skip
_BY_CHANCE = "it rests on times, and came and went without a change when it was run once more"
_NOT_SHOWN = "the finding did not show when the program was run again here"


def examine(trial: Trial, lab: Lab) -> Result:
    """Reproduce, change, count; in this order, so that a failure costs little.

    Raises:
        OutOfTime: Before it was through.
    """
    try:
        if trial.own is not None:
            own = _recorded(lab, trial.own, "the unchanged program")
            if not trial.shown(own.report):
                return Result(trial, "not_applicable", _NOT_SHOWN, environment=dict(own.about))
        first = _recorded(lab, trial.before, "the unchanged program")
        seen, note = _seen(trial, first)
        if why := _cannot(trial, first, seen):
            return Result(trial, "not_applicable", why, environment=dict(first.about))
        second = _recorded(lab, trial.after, "the changed program")
    except RunFailed as failed:
        return Result(trial, "raises", str(failed))
    result = _compared(trial, first, second, seen)
    if trial.by_time and result.holds and not _again(trial, lab, seen):
        return Result(trial, "no_effect", _BY_CHANCE, environment=dict(first.about))
    if result.structure is not None and note and not result.structure.note:
        result.structure = result.structure.model_copy(update={"note": note})
    result.environment = dict(first.about)
    return result


def _again(trial: Trial, lab: Lab, seen: int) -> bool:
    """Return whether what rests on times is the same once more, on both sides."""
    try:
        unchanged, changed = (lab.record(s, again=True) for s in (trial.before, trial.after))
    except RunFailed:
        return False
    return bool(trial.shows(unchanged.report)) and trial.left(changed.report) < seen


def _recorded(lab: Lab, side: Side, what: str) -> Recorded:
    try:
        return lab.record(side)
    except RunFailed as failed:
        raise RunFailed(f"{what}: {failed}") from failed


def _seen(trial: Trial, first: Recorded) -> tuple[int, str]:
    """Return how often the unchanged program shows the finding, and a remark on it."""
    seen = trial.shows(first.report)
    if not seen and (mild := trial.mild(first.report)):
        return mild.count, "rated harmless in the unchanged run"
    return seen, ""


def _cannot(trial: Trial, first: Recorded, seen: int) -> str:
    """Return why the change need not be tried; empty when it must be."""
    if not seen:
        return _NOT_SHOWN
    if not first.compiles and only_compiled(trial.knob):
        return "nothing is compiled, and the change is only about compiled code"
    return ""


def only_compiled(knob: Knob) -> bool:
    """Return whether a change concerns compiled code alone."""
    return bool(knob.settings) and all(name.startswith(_COMPILED) for name in knob.settings)


def _compared(trial: Trial, first: Recorded, second: Recorded, seen: int) -> Result:
    if first.compiles and not second.compiles:
        why = "with the change nothing is compiled any more: that says nothing about the finding"
        return Result(trial, "not_applicable", why)
    outcome, why = without_effect(trial.knob, first, second)
    if outcome:
        return Result(trial, outcome, why)
    left, note = trial.left(second.report), ""
    if not left and (mild := trial.mild(second.report)) and mild.count >= seen:
        left, note = mild.count, "as often as before, and rated harmless in the changed run"
    instead = trial.instead(first.report, second.report)
    predicted = trial.experiment.structure
    lives = f"{instead.code} takes its place: {instead.title}" if instead is not None else ""
    lives = lives or trial.remains(first.report, second.report)
    is_elsewhere = left >= seen and not note and not trial.shows(second.report)
    if (not left or is_elsewhere) and lives and predicted != "stays":
        note = lives
        half = Structure(predicted=predicted, before=seen, after=left, holds=False, note=note)
        moved = trial.as_many(first.report, second.report) and not _partly(trial.knob, second)
        return Result(trial, "replaced", note, structure=half, moved=moved)
    holds = {"gone": not left, "fewer": left < seen, "stays": left > 0}[predicted]
    half = Structure(predicted=predicted, before=seen, after=left, holds=holds, note=note)
    outcome = _outcome(trial, seen, left)
    if outcome in {"still_there", "stays"} and (why := _partly(trial.knob, second)):
        return Result(trial, "no_effect", why)
    new = matching.brought(first.report, second.report) if outcome != "still_there" else None
    told = f"{new.code} {new.title}" if new is not None else ""
    return Result(trial, outcome, structure=half, brought=told)


def _outcome(trial: Trial, seen: int, left: int) -> Outcome:
    if trial.experiment.structure == "stays":
        return "stays"
    if not left:
        return "gone"
    return "fewer" if left < seen else "still_there"


def without_effect(knob: Knob, first: Recorded, second: Recorded) -> tuple[Outcome | None, str]:
    """Return why the change was in force nowhere, as the processes themselves told."""
    threads = first.about.get("threads")
    if threads and "OMP_NUM_THREADS" in knob.env and threads == second.about.get("threads"):
        plural = "s" * (threads != "1")
        return "no_effect", f"the program has {threads} thread{plural} with it and without"
    told = [note for note in second.notes if any(note.startswith(f"{n}:") for n in knob.settings)]
    if told and (knob.layout or knob.call):
        return "not_applicable", "; ".join(dict.fromkeys(told))
    if told:
        return "no_effect", "; ".join(dict.fromkeys(told))
    return _unforced(knob, second)


def _unforced(knob: Knob, second: Recorded) -> tuple[Outcome | None, str]:
    held = {name for name, holds, _ in second.force if holds}
    values = {name: value for name, holds, value in second.force if not holds}
    wanted = [*knob.env, *knob.config, *(f"torch.compile({name}=)" for name in knob.compile)]
    wanted += [f"torch.optim({name}=)" for name in knob.optimizer]
    wanted += [CALLS[name] for name in knob.call]
    for name in wanted if second.told else ():
        if name in held:
            continue
        if name in values:
            return "no_effect", f"{name} was {values[name]} where it was needed"
        if name.startswith("torch.compile("):
            return "no_effect", f"{name}: the program never calls torch.compile"
        if name.startswith("torch.optim(") or name in CALLS.values():
            what = "calls nothing compiled" if name in CALLS.values() else "makes no such optimizer"
            return "not_applicable", f"{name}: the program {what}"
        if name in knob.env:
            return "no_effect", f"{name}: no process told that it had it"
        if name.startswith(_COMPILED):
            return "no_effect", f"{name} was not read back where something was compiled"
    return None, ""


def _partly(knob: Knob, second: Recorded) -> str:
    """Return where the change was not in force; what stays the same then refutes nothing."""
    missed = [
        f"{name} was {value} in a part of the program"
        for name, holds, value in second.force
        if not holds and (name in knob.env or name in knob.config)
    ]
    return "; ".join(missed)
