"""What one rule says of one run: it fired, it has looked, or there was nothing to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracelens.errors import PluginError, blame
from tracelens.evidence import Evidence, arguments
from tracelens.judging.watching import TRACE, Refused, Watched, refused
from tracelens.plugins import packs
from tracelens.plugins.facts import RuleFacts, TableFacts
from tracelens.plugins.held import Held
from tracelens.plugins.untouched import careful
from tracelens.report import Finding, Outcome, Verdict
from tracelens.rules import Rule

__all__ = ["Judge"]

#: How the codes of rules about traces begin.
OF_TRACES = "TRC"


class Judge:
    """Asks rule after rule about one run."""

    def __init__(self, held: Held, evidence: Evidence, watched: Watched) -> None:
        self._held = held
        self._evidence = evidence
        self._watched = watched
        self._refused = refused(evidence)
        self._ranks = _ranks(evidence)

    def answer(
        self, known: Rule | RuleFacts, facts: RuleFacts, asked: dict[str, Rule]
    ) -> tuple[Verdict, list[Finding]]:
        """Return what a rule says; one that raises, whatever it is, says that it crashed.

        Args:
            known: The rule, or what is known of it.
            facts: What is known of it.
            asked: The rules that were asked, by code; it is added to them.
        """
        try:
            verdict = self._without_asking(facts) or self._without_rows(known)
            if verdict is not None:
                return verdict, []
            with careful(facts.distribution, facts.module.partition(".")[0]):
                rule = known.load() if isinstance(known, RuleFacts) else known
                verdict, found = self._ask(rule, facts, self._tables(known))
            asked[facts.code] = rule
        except BaseException as error:  # a broken rule must not take the report down
            if isinstance(error, PluginError) and not facts.distribution:
                raise
            whose = f"{facts.distribution}: " if facts.distribution else ""
            crashed = {"verdict": Outcome.CRASHED, "reason": whose + blame(error)}
            return _quiet(facts).model_copy(update=crashed), []
        return verdict, found

    def _tables(self, known: Rule | RuleFacts) -> dict[str, Any]:
        """Return what the rule asks for."""
        if not isinstance(known, RuleFacts):
            return arguments(known.check, self._evidence)
        return self._held.tables(known.tables) | dict.fromkeys(known.whole, self._evidence)

    def _without_asking(self, facts: RuleFacts) -> Verdict | None:
        """Return the verdict of a rule with nothing to look at; None where it must be asked."""
        filled = [self._held.may_fill(table) for table in facts.tables]
        pairs = list(zip(facts.tables, filled, strict=True))
        lacking = [table for table, full in pairs if table.required and table.switches and not full]
        open_ = any(table.required and full and not table.plain for table, full in pairs)
        if lacking and not open_:
            return self._lacking(facts, lacking)
        if facts.everything or any(filled):
            return None
        return self._believed(facts, _quiet(facts))

    def _without_rows(self, known: Rule | RuleFacts) -> Verdict | None:
        """Return the verdict of a rule of ours that says nothing whatever else is there.

        A table that must have rows has none, or nothing moves it: neither it nor what it may look
        at besides is imported.
        """
        if not isinstance(known, RuleFacts) or known.distribution or known.everything:
            return None
        required = [table for table in known.tables if table.required]
        given = self._held.tables(required)
        if lacking := _empty(required, given):
            return self._lacking(known, lacking)
        if (not required or any(map(len, given.values()))) and self._held.moves(known):
            return None
        return self._believed(known, _quiet(known))

    def _ask(
        self, rule: Rule, facts: RuleFacts, given: dict[str, Any]
    ) -> tuple[Verdict, list[Finding]]:
        """Return what the rule says about the tables that it asks for."""
        if lacking := _empty([table for table in facts.tables if table.required], given):
            return self._lacking(facts, lacking), []
        said: Any = rule.check(**given)
        if said is None:
            raise TypeError("check returned None: it must yield its findings")
        found = list(said)
        if facts.distribution:
            packs.vet(found, facts)
        if found and facts.code.startswith(OF_TRACES):
            from tracelens.traces.wording import in_words_of  # noqa: PLC0415 -- of traces only

            found = in_words_of(found, self._evidence)
        if len(found) > 1 and self._ranks:
            from tracelens.traces.over_ranks import once_for_all  # noqa: PLC0415 -- of traces only

            found = once_for_all(found, self._ranks)
        if not found:
            return self._believed(facts, _quiet(facts)), []
        return _quiet(facts).model_copy(update={"verdict": Outcome.FIRED}), _distinct(found)

    def _lacking(self, facts: RuleFacts, lacking: Sequence[TableFacts]) -> Verdict:
        """Return the verdict of a rule some of whose tables must have rows and have none."""
        if (unread := self._unread(lacking)) is not None:
            return _absent(facts, unread)
        words = " or ".join(dict.fromkeys(table.name for table in lacking))
        if any(self._watched.covers(table.switches) for table in lacking):
            reason = f"the recording holds no {words}, though its switches were on"
            return _quiet(facts).model_copy(update={"reason": reason})
        switches = dict.fromkeys(switch for table in lacking for switch in table.switches)
        needs = tuple(one for one in switches if not self._watched.covers([one]))
        reason = f"no {words} in the input" + (", which was cut" if self._watched.cut else "")
        return _absent(facts, reason, needs)

    def _believed(self, facts: RuleFacts, quiet: Verdict) -> Verdict:
        """Return ``quiet``, unless records that the rule would have seen were refused."""
        wanted = [table for table in facts.tables if table.required] or facts.tables
        plain = [table for table in wanted if table.plain]
        if (unread := self._unread(plain)) is not None:
            return _absent(facts, unread)
        for kind, torn in self._refused_of(plain):
            many = "torn lines are" if torn.count > 1 else "torn line is"
            among = f"{torn.count:,} {many} not read, of {torn.among:,} of {kind}"
            reason = f"{among}, first at line {torn.line}"
            return quiet.model_copy(update={"reason": reason})
        return quiet

    def _unread(self, tables: Sequence[TableFacts]) -> str | None:
        """Return what of the rows of ``tables`` a grammar refused; None for nothing."""
        for kind, found in self._refused_of(tables):
            if not found.torn:
                many = f"{found.count:,} texts" if found.count > 1 else "a text"
                return f"unread: a grammar refused {many} of {kind}, first at line {found.line}"
        return None

    def _refused_of(self, tables: Sequence[TableFacts]) -> Iterator[tuple[str, Refused]]:
        """Yield the log kinds of ``tables`` of which something was refused."""
        modules = [of.partition(":")[0] for table in tables for of in table.types]
        for module in dict.fromkeys(modules):
            if module in self._refused:
                yield module.rpartition(".")[2], self._refused[module]


def _ranks(evidence: Evidence) -> dict[str, int]:
    """Return the rank of each trace, where traces of several ranks were read."""
    if TRACE not in evidence.kinds:
        return {}
    from tracelens.traces.over_ranks import ranks_of  # noqa: PLC0415 -- of traces only

    return ranks_of(evidence)


def _quiet(facts: RuleFacts) -> Verdict:
    return Verdict(code=facts.code, name=facts.name, verdict=Outcome.QUIET)


def _empty(required: Sequence[TableFacts], given: Mapping[str, Any]) -> list[TableFacts]:
    """Return the tables without a row that a switch would fill."""
    return [table for table in required if table.switches and not len(given[table.parameter])]


def _absent(facts: RuleFacts, reason: str, needs: tuple[str, ...] = ()) -> Verdict:
    absent = {"verdict": Outcome.ABSENT, "reason": reason, "needs": needs}
    return _quiet(facts).model_copy(update=absent)


def _distinct(found: list[Finding]) -> list[Finding]:
    """Number the findings of one rule that share an id, so that every id names one finding."""
    seen: dict[str, int] = {}
    out = []
    for finding in found:
        number = seen[finding.id] = seen.get(finding.id, 0) + 1
        update = {"id": f"{finding.id}-{number}"}
        out.append(finding if number == 1 else finding.model_copy(update=update))
    return out
