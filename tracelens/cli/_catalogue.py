"""What there is to know about an installed rule, for the commands that list and explain rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracelens.errors import UsageError, closest
from tracelens.experiment import UNCHANGED

if TYPE_CHECKING:
    from tracelens.logs import Record
    from tracelens.rules import Rule

__all__ = ["Entry", "catalogue", "complete_rule", "find_rule"]


@dataclass(frozen=True)
class Entry:
    """One installed rule."""

    code: str
    name: str
    severity: str
    summary: str
    #: The record types that it must have.
    reads: tuple[str, ...]
    #: Those that it uses when they are there.
    uses: tuple[str, ...]
    #: The switches that make torch and oneDNN print what it must have.
    needs: tuple[str, ...]
    #: The log kinds that hold what it must have or uses.
    kinds: tuple[str, ...]
    #: What a live run changes to test a finding; empty where none can.
    changes: str
    #: Why no live run can test it; empty where one can.
    untested: str
    #: The version of tracelens that brought it.
    since: str
    #: The package that it is in.
    origin: str = ""

    @classmethod
    def of(cls, rule: Rule) -> Entry:
        """Describe one rule."""
        from tracelens.evidence import needs
        from tracelens.plugins.facts import switches
        from tracelens.plugins.registry import distribution_of

        wanted = [(kind, must) for kind, must in needs(rule.check).values() if kind is not None]
        required = [kind for kind, must in wanted if must]
        return cls(
            code=rule.code,
            name=rule.name,
            severity=rule.severity.value,
            summary=rule.summary(),
            reads=tuple(kind.__name__ for kind in required),
            uses=tuple(kind.__name__ for kind, must in wanted if not must),
            needs=tuple(dict.fromkeys(s for kind in required for s in switches(kind))),
            kinds=tuple(dict.fromkeys(name for kind, _ in wanted for name in _kinds(kind))),
            changes=_changes(rule),
            untested=rule.unconfirmable,
            since=rule.since,
            origin=distribution_of(type(rule).__module__) or "built-in",
        )


def _changes(rule: Rule) -> str:
    if rule.experiment is None:
        return "" if rule.unconfirmable else "what the evidence says"
    if rule.experiment.knob is UNCHANGED:
        return "two small programs: the defect, and the same without it"
    return rule.experiment.knob.text


def _kinds(kind: type[Record]) -> list[str]:
    """Return the log kinds that ``kind`` is read from, or joined from."""
    from tracelens.evidence import needs
    from tracelens.logs import Joined, Log
    from tracelens.plugins.registry import discover
    from tracelens.traces.measured import Measured

    if issubclass(kind, Measured):
        return ["chrome_trace"]
    if issubclass(kind, Joined):
        return [name for part, _ in needs(kind.join).values() if part for name in _kinds(part)]
    return [log.name for log in discover("logs", Log) if log.__module__ == kind.__module__]


def catalogue() -> list[Entry]:
    """Return every installed rule, by code."""
    from tracelens.engine import select_rules

    return [Entry.of(rule) for rule in select_rules()]


def find_rule(wanted: str) -> Rule:
    """Return the rule of this code or name.

    Raises:
        UsageError: There is none; the hint names the nearest.
    """
    from tracelens.engine import select_rules

    rules = select_rules()
    for rule in rules:
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    words = [word for rule in rules for word in (rule.code, rule.name)]
    hint = closest(wanted, words, "tracelens rules lists them")
    raise UsageError(f"no rule has the code or name {wanted!r}", hint=hint)


def complete_rule(incomplete: str) -> list[tuple[str, str]]:
    """Complete a rule's code in a shell."""
    from tracelens.engine import select_rules

    found = (rule for rule in select_rules() if rule.code.startswith(incomplete.upper()))
    return [(rule.code, rule.name) for rule in found]
