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

__all__ = ["Remedy", "applicable"]


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
    if found and (rest := found[0].text.removeprefix("Or ")) != found[0].text:
        found[0] = found[0].model_copy(update={"text": rest[0].upper() + rest[1:]})
    return tuple(found)


def _of(value: Any, data: Any) -> Any:
    return value(data) if callable(value) else value
