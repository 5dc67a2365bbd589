"""Declarative rules as classes, as those written in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from tracelens.errors import PluginError
from tracelens.evidence import Evidence, Seen, Table
from tracelens.logs import Joined, Log, Record
from tracelens.plugins.declared import Condition, DeclaredRule, check_fields, filled
from tracelens.plugins.declared_lines import (
    Line,
    check_own_lines,
    class_name,
    declared,
)
from tracelens.report import Advice, Finding, FindingData, Severity, Where
from tracelens.rules import Rule

__all__ = ["DeclaredBase", "fill_rules"]


class Said(FindingData):
    """What the lines say of the finding."""

    fields: dict[str, str | int | float | bool | None]


class DeclaredBase(Rule):
    """A rule that a file declares."""

    declared: ClassVar[DeclaredRule]
    conditions: ClassVar[Mapping[str, Condition]] = {}
    #: The record type that findings are made of; others only show that it would be there.
    row: ClassVar[type[Record]] = Record
    Data = Said

    def found(self, table: Table[Any]) -> Iterator[Finding]:
        """Yield one finding for all lines that are about the same."""
        groups: dict[tuple[str, ...], list[tuple[Seen[Any], dict[str, Any]]]] = {}
        for seen in table:
            if not isinstance(seen.record, self.row):
                continue
            fields = _fields_of(seen.record)
            if all(test.holds(fields.get(name)) for name, test in self.conditions.items()):
                about = fields if self.declared.about is None else self.declared.about
                key = tuple(str(fields.get(name)) for name in about)
                groups.setdefault(key, []).append((seen, fields))
        for key, rows in groups.items():
            count = sum(seen.count for seen, _ in rows)
            if count >= self.declared.at_least:
                yield self._one(key, rows, count)

    def _one(
        self, key: tuple[str, ...], rows: Sequence[tuple[Seen[Any], dict[str, Any]]], count: int
    ) -> Finding:
        said = self.declared
        fields = rows[0][1] | {"count": count}
        return self.finding(
            *key,
            title=filled(said.title, fields),
            message=filled(said.message, fields),
            severity=Severity(said.severity),
            count=count,
            where=_place(fields),
            evidence=[
                seen.quote(filled(said.evidence, of | {"count": count})) for seen, of in rows[:3]
            ],
            advice=[_advice(number, one, fields) for number, one in enumerate(said.advice, 1)],
            data=Said(fields={n: v for n, v in rows[0][1].items() if _is_plain(v)}),
            harmless=said.harmless or None,
        )


def _place(fields: Mapping[str, Any]) -> Where | None:
    """Return the place in code, where the lines tell a file and a line."""
    file, line, function = (fields.get(name) for name in ("file", "line", "function"))
    if not isinstance(file, str) or not isinstance(line, int) or isinstance(line, bool):
        return None
    return Where(file=file, line=line, function=function if isinstance(function, str) else None)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _fields_of(record: Record) -> dict[str, Any]:
    if isinstance(record, Line):
        return dict(record.values)
    return {name: getattr(record, name) for name in type(record).model_fields}


def _advice(number: int, declared: Any, fields: Mapping[str, object]) -> Advice:
    texts = declared.model_dump(exclude_none=True)
    told = {key: filled(text, fields) for key, text in texts.items()}
    return Advice(id=f"advice-{number}", basis="source", **told)


def fill_rules(
    module: ModuleType,
    lines: ModuleType,
    files: Sequence[Path],
    broken: list[str],
    kinds: Callable[[str], type[Log] | None],
) -> None:
    """Make the rules of a pack's files.

    Args:
        module: Where to put them.
        lines: Where the record types of their lines are.
        files: What declares them.
        broken: What is wrong with files is added to it.
        kinds: Gives the log kind of a name.
    """
    for file, rule in declared(files):
        try:
            if isinstance(rule, str):
                raise PluginError(rule)
            _fill_rule(module, rule, lines, kinds)
        except (PluginError, ValueError) as error:
            said = "" if isinstance(error, PluginError) else f"{file.parent.name}/{file.name}: "
            broken.append(f"{said}{error}")


def _fill_rule(
    module: ModuleType,
    rule: DeclaredRule,
    lines: ModuleType,
    kinds: Callable[[str], type[Log] | None],
) -> None:
    """Make one rule.

    Raises:
        ValueError: It asks for what there is not; the message begins with the key.
    """
    name = class_name(rule)
    if rule.reads:
        row = _record("reads", rule.reads, kinds)
        check_fields(rule, tuple(row.model_fields))
    else:
        row = getattr(lines, f"{name}Line")
        check_own_lines(rule, row)
    proof: type[Record] | None = None
    if rule.absent_unless is not None:
        other = rule.absent_unless.reads
        proof = (
            _record("absent-unless.reads", other, kinds)
            if other
            else getattr(lines, f"{name}Proof")
        )
    looked = _looked(module, name, row, proof)

    def check(self: DeclaredBase, seen: Any) -> Iterator[Finding]:
        return self.found(seen)

    check.__annotations__ = {"seen": Table[looked], "return": Iterator[Finding]}  # type: ignore[valid-type]
    attributes = {
        "__module__": module.__name__,
        "__doc__": _page(rule),
        "code": rule.code,
        "name": rule.name,
        "severity": Severity(rule.severity),
        "declared": rule,
        "conditions": {key: Condition(value) for key, value in rule.where.items()},
        "row": row,
        "unconfirmable": "it is declared as data, and names no change to try",
        "check": check,
    }
    setattr(module, name, type(name, (DeclaredBase,), attributes))


def _looked(
    module: ModuleType, name: str, row: type[Record], proof: type[Record] | None
) -> type[Record]:
    """Return the table that the rule asks for: its lines, and what proves that they are told."""
    types = (row,) if proof is None else (row, proof)

    def join(cls: type[Record], evidence: Any) -> Iterator[Seen[Any]]:
        del cls
        for kind in types:
            yield from evidence.table(kind)

    def walks(cls: type[Record]) -> tuple[type[Record], ...]:
        del cls
        return types

    join.__annotations__ = {"evidence": Evidence, "return": Iterator[Seen[Any]]}
    attributes = {
        "__module__": module.__name__,
        "__qualname__": f"{name}Seen",
        "__doc__": "Lines of the rule, and what shows that they would be there.",
        "__annotations__": {"switch": ClassVar[str]},
        "switch": " or ".join(_switches(row)),
        "join": classmethod(join),
        "walks": classmethod(walks),
    }
    looked = type(f"{name}Seen", (Joined,), attributes)
    setattr(module, looked.__name__, looked)
    return looked


def _switches(row: type[Record]) -> list[str]:
    if row.switch:
        return [row.switch]
    held = [cls for cls in vars(sys.modules[row.__module__]).values() if isinstance(cls, type)]
    logs = [cls for cls in held if issubclass(cls, Log) and cls.name]
    return [log.switch for log in logs if log.switch and log.__module__ == row.__module__]


def _record(key: str, wanted: str, kinds: Callable[[str], type[Log] | None]) -> type[Record]:
    kind, _, name = wanted.partition(".")
    log = kinds(kind)
    if log is None:
        raise ValueError(f"{key}: no log kind is called {kind!r}")
    found = getattr(sys.modules[log.__module__], name, None)
    if not (isinstance(found, type) and issubclass(found, Record)) or issubclass(found, Joined):
        held = vars(sys.modules[log.__module__]).values()
        names = [
            one.__name__
            for one in held
            if isinstance(one, type)
            and issubclass(one, Record)
            and one.__module__ == log.__module__
        ]
        raise ValueError(f"{key}: {kind} has no record {name!r}; it has: {', '.join(names)}")
    return found


def _page(rule: DeclaredRule) -> str:
    """Return the page of a rule, as the docstring of one in Python has it."""
    todo = "\n".join(f"- {one.text}" for one in rule.advice) or "Nothing."
    excerpt = "\n".join(f"    {line}" for line in rule.example.strip("\n").splitlines())
    sections = {
        "Why it matters": rule.why.strip(),
        "What it looks like": excerpt,
        "When it is harmless": rule.when_harmless.strip()
        or rule.harmless
        or "Not that we know of.",
        "What to do": todo,
        "How a live run confirms it": "It does not: the rule is declared as data.",
        "See also": rule.see_also.strip() or "`tracelens packs`",
    }
    return "\n\n".join([rule.summary, *(f"## {name}\n{text}" for name, text in sections.items())])
