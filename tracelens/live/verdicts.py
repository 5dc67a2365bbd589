"""From what trials showed to a verdict: pure functions, no runs.

Only the user's own program confirms or refutes. The structural half is a verdict of its own, which
time can only improve; what was not in force, failed or was not finished refutes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tracelens.live.statistics import Judgement
from tracelens.live.temporal import UNFINISHED
from tracelens.live.trials import Result
from tracelens.report import Advice, Confirmation, Cost, Effect, Finding, Structure, Tried

__all__ = ["better", "effect", "nothing", "told", "verdict"]

State = Literal["not_tried", "confirmed", "confirmed_structure", "refuted", "inconclusive"]
#: The less, the more a verdict says; ``unfinished`` may still become anything.
_RANKS = {"confirmed": 0, "confirmed_structure": 1, "unfinished": 2, "refuted": 3}
_OTHERS = "a program of the same form, not yours, was run"
_IN_FORCE = "the change was in force, and the finding is still there"
_MOVED = "the change was in force, and as much of it is there in another form"
_REASONS: dict[str, Any] = {
    "replaced": "no_effect",
    "no_effect": "no_effect",
    "still_there": "no_effect",
    "stays": "unfinished",
    "unfinished": "unfinished",
    "raises": "raises",
    "not_applicable": "not_applicable",
}


def nothing(why: str, reason: str = "") -> Confirmation:
    """Return the verdict on a finding of which nothing can be tried."""
    if not reason:
        return Confirmation(note=why)
    return Confirmation.model_validate({"state": "inconclusive", "reason": reason, "note": why})


def verdict(results: Sequence[Result], *, more: bool = False) -> Confirmation:
    """Return what all trials of a finding say together.

    Args:
        results: What each showed so far, the printed advice first.
        more: Whether there are trials that were not made for lack of time.
    """
    said = [(*_alone(result), result) for result in results]
    if not said:
        return nothing(f"{UNFINISHED}; confirm it again, or with more --minutes", "unfinished")
    state, note, best = min(said, key=lambda each: _rank(each[0], each[2]))
    if state == "refuted" and (why := _not_refuted(results, more=more)):
        state, note, best = "inconclusive", why[1], why[0]
    reason, note = "", "; ".join(filter(None, (note, _new(best))))
    if best.trial.same_form and best.structure is not None:
        state, reason, note = "inconclusive", "same_form_only", f"{_OTHERS}: {note}"
    elif state == "inconclusive":
        reason = "unfinished" if more else _REASONS.get(best.outcome, "no_effect")
    return Confirmation(
        state=state,
        reason=reason,
        note=note,
        pending=state != "confirmed" and (best.pending or reason == "unfinished"),
        workload=str(best.trial.before.workload),
        knob=best.trial.knob.text,
        settings=best.trial.knob.settings,
        structure=best.structure,
        effect=effect(best.judgement, best.trial.experiment.of) if best.judgement else None,
        deviation=best.deviation,
        environment=best.environment,
        tried=tuple(
            _tried(result)
            for result in results
            if result.trial.advice and result.outcome != "unfinished"
        ),
    )


def _rank(state: State, result: Result) -> tuple[int, int]:
    key = "unfinished" if state == "inconclusive" and _open(result) else state
    order = ("replaced", "no_effect", "raises", "not_applicable")
    rest = order.index(result.outcome) if result.outcome in order else int(bool(result.brought))
    return _RANKS.get(key, 4), rest


def _open(result: Result) -> bool:
    return result.outcome == "unfinished" or (result.outcome == "stays" and result.pending)


def _not_refuted(results: Sequence[Result], *, more: bool) -> tuple[Result, str] | None:
    """Return what leaves a finding open although a change in force did not end it."""
    for result in results:
        if result.moved:
            continue
        if result.outcome in {"raises", "no_effect", "replaced", "fewer", "unfinished"}:
            return result, _alone(result)[1]
    if more:
        return results[0], f"{UNFINISHED} before everything was tried"
    return None


def _alone(result: Result) -> tuple[State, str]:
    """Return what one trial says by itself, were it on the user's program."""
    half, trial = result.structure, result.trial
    if half is None or result.outcome in {"replaced", "raises", "no_effect", "not_applicable"}:
        state: State = "refuted" if result.moved else "inconclusive"
        return state, f"{_MOVED}: {_note(result)}" if result.moved else _note(result)
    if result.outcome == "stays":
        return _by_time(result)
    if result.outcome == "still_there":
        return "refuted", _IN_FORCE
    changed = _changed(half)
    if not half.holds and half.after * 2 > half.before:
        return "inconclusive", f"{changed}: that is not what was predicted"
    if not trial.is_timed:
        return ("confirmed" if half.holds else "confirmed_structure"), changed
    return _upgraded(result, changed)


def _note(result: Result) -> str:
    if result.outcome == "unfinished":
        return f"{result.note or UNFINISHED}; confirm it again, or with more --minutes"
    return result.note


def _changed(half: Structure) -> str:
    if not half.after:
        return "with the change the finding is gone"
    return f"with the change it is seen {half.after} times instead of {half.before}"


def _what(result: Result) -> str:
    return "the run" if result.trial.experiment.of == "run" else "a step"


def _upgraded(result: Result, changed: str) -> tuple[State, str]:
    """Return the structural verdict with what the time adds to it."""
    judged, what = result.judgement, _what(result)
    if judged is None:
        if result.untimed:
            return "confirmed_structure", f"{changed}; it was not timed: {result.untimed}"
        why = "; its time is not measured yet" if result.pending else ""
        return "confirmed_structure", f"{changed}{why}"
    if judged.answer == "faster":
        return "confirmed", f"{changed}, and {what} takes less time"
    if judged.answer == "unclear":
        return "confirmed_structure", f"{changed}; its time is unclear: {judged.reason}"
    if judged.answer == "slower":
        return "confirmed_structure", f"{changed}, but {what} takes longer"
    return "confirmed_structure", f"{changed}, but {what} takes no less time: harmless here"


def _by_time(result: Result) -> tuple[State, str]:
    """Return the verdict where the finding stays and only time can tell."""
    judged, what = result.judgement, _what(result)
    if judged is None:
        why = result.untimed or f"{UNFINISHED} before it was timed"
        return "inconclusive", f"only its time can show it: {why}"
    if judged.answer == "unclear":
        return "inconclusive", f"its time is unclear: {judged.reason}"
    if judged.answer == "faster":
        return "confirmed", f"with the change {what} takes less time"
    than = "longer" if judged.answer == "slower" else "no less time"
    return "refuted", f"the change was in force, and {what} takes {than}"


def _tried(result: Result) -> Tried:
    outcome: Any = {"replaced": "still_there", "stays": "still_there"}.get(
        result.outcome, result.outcome
    )
    judged = result.judgement
    return Tried(
        advice=result.trial.advice,
        outcome=outcome,
        ratio=_digits(judged.ratio) if judged else None,
        interval=(_digits(judged.low), _digits(judged.high)) if judged else None,
        error=result.note if result.outcome == "raises" else "",
        note="" if result.outcome == "raises" else result.note or _new(result),
    )


def _new(result: Result) -> str:
    return f"new with it: {result.brought}" if result.brought else ""


def better(old: Confirmation, new: Confirmation) -> bool:
    """Return whether a new verdict says at least as much as an old one of the same program."""

    def rank(one: Confirmation) -> tuple[int, int, bool]:
        state = one.reason if one.reason == "unfinished" else one.state
        blocks = one.effect.blocks if one.effect else 0
        return _RANKS.get(state, 4 + (state == "not_tried")), -blocks, one.pending

    return rank(new) <= rank(old) or old.state == "not_tried"


def told(finding: Finding, said: Confirmation) -> Finding:
    """Return a finding with its verdict, the measured cost, and what worked as its first advice.

    What the log alone said of the cost stays in the confirmation.
    """
    estimate = finding.confirmation.estimate or finding.cost
    measured = _saved(said)
    if measured is not None:
        said = said.model_copy(update={"estimate": estimate})
    cost = measured or estimate
    advice = _in_order(finding.advice, said.tried)
    return finding.model_copy(update={"confirmation": said, "cost": cost, "advice": advice})


def _in_order(advice: tuple[Advice, ...], tried: Sequence[Tried]) -> tuple[Advice, ...]:
    """Return the advice with what worked first, and what failed last."""
    places = {"gone": 0, "fewer": 1}
    known = {each.advice: places.get(each.outcome, 3) for each in tried if not each.is_mixed}
    return tuple(sorted(advice, key=lambda each: known.get(each.id, 2)))


def _saved(said: Confirmation) -> Cost | None:
    """Return what the change was measured to save; None where that is not the verdict."""
    half = said.effect
    if said.state != "confirmed" or half is None or not half.holds or half.before_ms <= 0:
        return None
    of = "the run" if half.of == "run" else "a step"
    share = max(1 - 1 / half.ratio, 0.0)
    return Cost(ms=half.before_ms * share, share=share, basis="confirmed", of=of)


def effect(judgement: Judgement, of: Literal["step", "run"]) -> Effect:
    """Return the temporal half of a confirmation."""
    return Effect(
        ratio=_digits(judgement.ratio),
        low=_digits(judgement.low),
        high=_digits(judgement.high),
        threshold=_digits(judgement.threshold),
        aa_ratio=_digits(judgement.aa_ratio),
        before_ms=float(f"{judgement.before_ms:.4g}"),
        after_ms=float(f"{judgement.after_ms:.4g}"),
        iterations=judgement.iterations,
        blocks=judgement.blocks,
        of=of,
        holds=judgement.answer == "faster",
        note=judgement.reason,
    )


def _digits(ratio: float) -> float:
    return round(ratio, 3) if ratio < 100 else float(f"{ratio:.4g}")
