"""What the code of a pack may do: its results are looked at, and what it raises is its own fault.

Nothing of a pack changes what is said without it: it is asked last, what it returns is checked, and
what it may silence is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic_core import to_jsonable_python

from tracelens import context
from tracelens.errors import PluginError, blame
from tracelens.evidence import Evidence
from tracelens.logs import Log
from tracelens.plugins import manifest, untouched
from tracelens.plugins.facts import LogFacts, RendererFacts, RuleFacts
from tracelens.report import BrokenPack, Environment, Finding
from tracelens.report.stories import Story, Teller
from tracelens.rules import Rule
from tracelens.timelimit import limited

__all__ = [
    "CarefulTeller",
    "broken",
    "faults",
    "replaced",
    "summaries",
    "take_part",
    "tellers",
    "vet",
]


def vet(found: Sequence[Any], facts: RuleFacts) -> None:
    """Check that what a rule of a pack has yielded are findings of that rule.

    Raises:
        PluginError: Something else is among them.
    """
    for finding in found:
        if not isinstance(finding, Finding):
            raise PluginError(f"check yielded {type(finding).__name__!r}, not a Finding")
        if (finding.code, finding.name) != (facts.code, facts.name):
            raise PluginError(f"check yielded a finding of {finding.code} {finding.name}")
        if not finding.id.startswith(f"{facts.code}-"):
            raise PluginError(f"check yielded a finding with the id {finding.id!r}")
        Finding.model_validate(finding.model_dump(warnings="none"))


class CarefulTeller:
    """The stories of a pack's rule; one that raises tells none."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        #: What it raised, last.
        self.fault = ""

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the stories that ``finding`` is the cause of."""
        return self._or_nothing(self._rule.causes, finding)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the stories that ``finding`` may be a symptom of."""
        return self._or_nothing(self._rule.follows, finding)

    def _or_nothing(
        self, tell: Callable[[Finding], Iterable[Story]], finding: Finding
    ) -> Iterable[Story]:
        try:
            with limited(context.current().pack_seconds):
                stories = list(tell(finding))
            hash(tuple(stories))
        except BaseException as error:
            self.fault = f"{self._rule.code}: {blame(error)}"
            return ()
        return stories


def tellers(rules: Mapping[str, Rule], foreign: Collection[str]) -> Mapping[str, Teller]:
    """Return who tells the stories of findings, by code of the rule."""
    return {code: CarefulTeller(r) if code in foreign else r for code, r in rules.items()}


def faults(tellers: Mapping[str, Teller], foreign: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the distribution of each rule whose stories could not be told, and why."""
    for code, teller in tellers.items():
        if isinstance(teller, CarefulTeller) and teller.fault:
            yield foreign[code], teller.fault


def summaries(
    log: type[Log], evidence: Evidence
) -> tuple[Mapping[str, Any], Mapping[str, list[dict[str, Any]]]]:
    """Return what a log kind says about the machine, and its tables; a pack's are looked at."""
    if log.builtin:
        return log.environment(evidence), log.tables(evidence)
    environment: Mapping[str, Any] = {}
    tables: Mapping[str, list[dict[str, Any]]] = {}
    with evidence.blaming(log):
        said = dict(log.environment(evidence))
        Environment(**said)
        environment = said
    with evidence.blaming(log):
        shown = to_jsonable_python(dict(log.tables(evidence)))
        if not all(isinstance(row, dict) for rows in shown.values() for row in rows):
            raise PluginError("tables() gives something else than lists of rows")
        tables = shown
    return environment, tables


def take_part() -> bool:
    """Tell whether code of packs takes part, or is broken."""
    installed = manifest.current()
    parts: Iterable[LogFacts | RuleFacts] = chain(installed.logs, installed.rules)
    return bool(installed.broken) or any(one.distribution for one in parts)


def replaced() -> list[tuple[str, str]]:
    """Put back what code of packs has replaced; return each distribution, and what it was."""
    installed = manifest.current()
    parts: Iterable[LogFacts | RuleFacts | RendererFacts] = chain(
        installed.logs, installed.rules, installed.renderers
    )
    owners = {one.module.partition(".")[0]: one.distribution for one in parts if one.distribution}
    if not owners:
        return []
    found = untouched.put_back(owners.keys())
    of = {owners.get(one.by, next(iter(owners.values()))) for one in found}
    return [(distribution, untouched.said(found)) for distribution in sorted(of)]


def broken(
    faults: Mapping[str, str], more: Iterable[tuple[str, str]] = ()
) -> tuple[BrokenPack, ...]:
    """Return what the report says of packs that are broken, or were when they were asked.

    Args:
        faults: Log kind -> what its code raised.
        more: Distributions, and what is wrong with them.
    """
    installed = manifest.current()
    owners = {log.name: log.distribution for log in installed.logs}
    known = [(one.distribution, one.what) for one in installed.broken]
    known += [(owners.get(kind) or kind, f"log kind {kind}: {f}") for kind, f in faults.items()]
    known += more
    return tuple(BrokenPack(distribution=of, what=what) for of, what in dict.fromkeys(known))
