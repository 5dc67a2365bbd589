"""Remedies: what a rule can advise, when it applies, and how it is known to work.

A rule declares its remedies once, as data. A finding is given the advice of those that apply to it,
so that nothing is printed that cannot work there; the documentation lists them all, with what tests
them; live mode tries the knob of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tracelens.experiment import Knob
from tracelens.report import Advice

__all__ = ["Remedy", "apart", "applicable", "from_outside"]


def _always(data: Any, /) -> bool:
    del data
    return True


@dataclass(frozen=True)
class Remedy:
    """One thing that a rule can advise.

    ``text``, ``setting``, ``env`` and ``code`` may be functions of the finding's data, for what
    names something of the user's: nothing is printed that does not exist in the program.
    """

    #: Within the rule, stable: ``freeze``, ``mark-dynamic``.
    id: str
    text: str | Callable[[Any], str]
    #: In words, for the documentation: "2-d and 4-d weights, inference".
    when: str = ""
    #: The same as a predicate over the rule's ``Data``.
    applies: Callable[[Any], bool] = _always
    setting: str | Callable[[Any], str | None] | None = None
    env: str | Callable[[Any], str | None] | None = None
    code: str | Callable[[Any], str | None] | None = None
    since: str | None = None
    until: str | None = None
    #: ``tested``: ``proof`` names the test in ``tests/advice``. ``source``: a document or
    #: thread. ``untestable``: why no test here can show it.
    basis: Literal["tested", "source", "untestable"] = "source"
    proof: str = ""
    #: The same as a change from outside the program, or a function of the data that gives it.
    knob: Knob | Callable[[Any], Knob | None] | None = None
    #: Whether it changes the line that the finding is placed at: only its authors can.
    edits: bool = False
    #: Whether it asks for no change: the message says it, where no advice is left that does. With
    #: something to paste, such as a switch to record more, it is advice all the same.
    says: bool = False

    def advice(self, data: Any) -> Advice:
        """Return what a finding with this data prints."""
        return Advice(
            id=self.id,
            text=_of(self.text, data),
            setting=_of(self.setting, data),
            env=_of(self.env, data),
            code=_of(self.code, data),
            since=self.since,
            until=self.until,
            basis=self.basis,
            proof=self.proof,
            knob=_of(self.knob, data),
        )


def applicable(remedies: Iterable[Remedy], data: Any) -> tuple[Advice, ...]:
    """Return the advice of those remedies that apply to a finding with this data, in order.

    "Or ..." is an alternative to the one before it, and loses the word where that does not apply.
    """
    found = [remedy.advice(data) for remedy in remedies if remedy.applies(data)]
    return tuple([found[0].as_first(), *found[1:]] if found else ())


def apart(advice: Iterable[Advice], remedies: Iterable[Remedy]) -> tuple[tuple[Advice, ...], str]:
    """Return the advice that asks for a change; where there is none, what else is to be said."""
    quiet = {remedy.id for remedy in remedies if remedy.says}
    given = tuple(advice)
    left = tuple(one for one in given if one.id not in quiet or one.is_pasted)
    return left, "" if left else " ".join(one.text for one in given)


def from_outside(
    advice: Iterable[Advice], remedies: Iterable[Remedy], package: str, *, whole: bool = False
) -> tuple[Advice, ...]:
    """Return the advice about a line of an installed package: first what its user can do.

    What edits the line comes last, and is said to be for its authors. With ``whole`` it is no line:
    all of the model is the package's.
    """
    edits = {remedy.id for remedy in remedies if remedy.edits}
    given = tuple(advice)
    theirs = [_for_authors(one, package) for one in given if one.id in edits]
    if not theirs:
        return given
    own = [one for one in given if one.id not in edits] or [_reported(package, whole=whole)]
    return (own[0].as_first(), *own[1:], *theirs)


def _for_authors(advice: Advice, package: str) -> Advice:
    text = advice.as_first().text
    text = f"For the authors of `{package}`: {text[0].lower()}{text[1:]}"
    return advice.model_copy(update={"text": text, "code": None, "knob": None})


def _reported(package: str, *, whole: bool) -> Advice:
    text = (
        f"The line is in `{package}`, and no setting is known that helps. If it stops the "
        "program, leave the call that leads there out of what is compiled; if not, measure what "
        "it costs first. Then report it to its authors."
    )
    if whole:
        text = (
            f"The model is `{package}`'s, and no setting is known that helps: where the time "
            "matters, report it to its authors."
        )
    return Advice(
        id="report",
        text=text,
        basis="untestable",
        proof="it depends on the releases of the package",
    )


def _of(value: Any, data: Any) -> Any:
    return value(data) if callable(value) else value
