"""What running it again showed, in words and figures that every format shares."""

from __future__ import annotations

from typing import NamedTuple

from tracelens.render import _words
from tracelens.report import Confirmation, Deviation, Effect, Structure, Tried

__all__ = ["Drawing", "badge", "brief", "drawing", "facts", "grade"]

_BADGES = {
    "not_tried": "not tried",
    "confirmed": "confirmed",
    "confirmed_structure": "confirmed in structure",
    "refuted": "refuted",
    "inconclusive": "inconclusive",
}
#: The severity whose colour and sign a state borrows.
_GRADES = {
    "confirmed": "good",
    "confirmed_structure": "info",
    "refuted": "warning",
    "inconclusive": "none",
    "not_tried": "none",
}


def badge(value: Confirmation) -> str:
    """Return the verdict in one or two words."""
    return _BADGES[value.state]


def grade(value: Confirmation) -> str:
    """Return how the verdict is marked: ``good``, ``info``, ``warning`` or ``none``."""
    return _GRADES[value.state]


def brief(value: Confirmation) -> list[tuple[str, str]]:
    """Return what was changed and what it brought, as (name, words)."""
    wanted = ("changed", "step time", "run time", "results", "advice tried")
    return [(name, words) for name, words in facts(value) if name in wanted]


def facts(value: Confirmation) -> list[tuple[str, str]]:
    """Return all there is to know about a verdict, as (name, words)."""
    found = [("ran", value.workload or ""), ("changed", _changed(value))]
    if value.structure is not None:
        found.append(("finding", _structure(value.structure)))
    if value.effect is not None:
        found.append((f"{value.effect.of} time", _effect(value.effect)))
    if value.deviation is not None:
        found.append(("results", _deviation(value.deviation)))
    found.append(("advice tried", "; ".join(map(_tried, _worth(value)))))
    where = ", ".join(f"{name} {said}" for name, said in value.environment.items())
    return [(name, words) for name, words in [*found, ("machine", where)] if words]


def _worth(value: Confirmation) -> tuple[Tried, ...]:
    """Return what was tried, where it says more than the verdict: several, or one that failed."""
    tried = value.tried
    return tried if len(tried) > 1 or any(t.outcome not in {"gone", "fewer"} for t in tried) else ()


def _tried(one: Tried) -> str:
    """Return ``freeze: gone, 1.50 times as fast``."""
    words = f"{one.advice}: {one.outcome.replace('_', ' ')}"
    if one.ratio is not None:
        words += f", {one.ratio:.2f} times as fast"
    why = one.error or one.note
    return f"{words} ({why})" if why else words


def _changed(value: Confirmation) -> str:
    if not value.knob:
        return ""
    settings = ", ".join(
        f"{name[:-2]}={said})" if name.endswith("=)") else f"{name}={said}"
        for name, said in value.settings.items()
    )
    return f"{value.knob}: {settings}" if settings else value.knob


def _structure(half: Structure) -> str:
    predicted = {"gone": "that it is gone", "fewer": "fewer", "stays": "that it stays"}
    sides = f"{_words.plural(half.before, 'time')} unchanged, "
    sides += f"{_words.plural(half.after, 'time')} changed"
    held = "holds" if half.holds else "fails"
    words = f"seen {sides}; predicted was {predicted[half.predicted]}: {held}"
    return f"{words} ({half.note})" if half.note else words


def _effect(half: Effect) -> str:
    sides = f"{_words.milliseconds(half.before_ms)} unchanged, "
    sides += f"{_words.milliseconds(half.after_ms)} changed"
    if half.of == "step":
        basis = f"{_words.plural(half.iterations, 'step')} per side"
    else:
        basis = "whole runs"
    blocks = _words.plural(half.blocks, "block")
    words = (
        f"{half.ratio:.2f} times as fast (99 % interval {half.low:.2f} to {half.high:.2f}, "
        f"needed: {half.threshold:.2f}): {sides}; {basis} in {blocks}, "
        f"unchanged against unchanged {half.aa_ratio:.2f}: {'holds' if half.holds else 'fails'}"
    )
    return words if half.blocks else ""


def _deviation(value: Deviation) -> str:
    words = f"differ from eager by at most {value.max_abs:.2g} ({value.max_rel:.2g} relative)"
    if value.unchanged_max_abs is not None:
        words += f"; unchanged by {value.unchanged_max_abs:.2g}"
    return words


class Drawing(NamedTuple):
    """An interval on an axis of ratios; positions between 0 and 100."""

    low: float
    high: float
    ratio: float
    one: float
    bar: float
    text: str


def drawing(value: Confirmation) -> Drawing | None:
    """Return the effect as a drawing; None where nothing was timed."""
    half = value.effect
    if half is None or not half.blocks or min(half.low, half.ratio) <= 0:
        return None
    least, most = min(0.9, half.low), max(half.threshold, half.high, 1.1)
    span = (most - least) * 1.1

    def at(ratio: float) -> float:
        return round(100 * (ratio - least + span * 0.045) / span, 2)

    return Drawing(
        at(half.low), at(half.high), at(half.ratio), at(1.0), at(half.threshold), _effect(half)
    )
