"""Import what rules need before they are asked, while another process still reads for this one.

What stands in a part of a log mostly stands in the rest of it, too. What is not imported here is
imported when it is needed, so that nothing depends on it but time.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from tracelens.evidence import Evidence
from tracelens.plugins import manifest, packs
from tracelens.plugins.facts import RuleFacts, TableFacts, find, name_of

__all__ = ["fetch"]


def fetch(evidence: Evidence, codes: Collection[str]) -> None:
    """Import those of the rules ``codes`` that have something to look at in ``evidence``.

    Args:
        evidence: Some of what is read of a run.
        codes: The rules that will be asked.
    """
    if packs.take_part():  # their code may mind what is imported when
        return
    here = frozenset(map(name_of, evidence.types()))
    for rule in manifest.current().rules:
        if rule.code in codes and _is_asked(rule, here):
            with suppress(Exception):  # it says so itself when it is asked
                rule.load()
                for table in rule.tables:
                    find(*table.of.split(":"))
    if _may_fill(manifest.current().frames, here):
        from tracelens import frames  # noqa: F401, PLC0415 -- joined from most log kinds


def _is_asked(rule: RuleFacts, here: frozenset[str]) -> bool:
    filled = [_may_fill(table, here) for table in rule.tables]
    pairs = list(zip(rule.tables, filled, strict=True))
    lacking = any(table.required and table.switches and not full for table, full in pairs)
    open_ = any(table.required and full and not table.plain for table, full in pairs)
    return any(filled) and (open_ or not lacking)


def _may_fill(table: TableFacts, here: frozenset[str]) -> bool:
    return bool(table.joins) or not here.isdisjoint(table.types)
