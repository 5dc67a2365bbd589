"""The lines of declarative rules: log kinds and record types, made of what files declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from lark import Lark, LarkError, Token

from tracelens.errors import PluginError
from tracelens.grammars import Unreadable
from tracelens.logs import Log, Record
from tracelens.plugins import regexes
from tracelens.plugins.declared import DeclaredRule, read

__all__ = ["DeclaredLines", "Line", "check_own_lines", "class_name", "declared", "fill_lines"]

#: Characters of a line that are looked at.
MAX_LINE = 10_000


class Line(Record):
    """What a declarative rule takes from a line of its own."""

    from_code: ClassVar[bool] = True
    values: tuple[tuple[str, str | int | float], ...] = ()


class DeclaredLines(Log):
    """The lines of all declarative rules of one pack."""

    #: Each reads a line, or says that it is none of its own.
    readers: ClassVar[tuple[Callable[[str], Record | None], ...]] = ()
    examples: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return what each of the rules takes from the line."""
        line = text.partition("\n")[0][:MAX_LINE]
        return tuple(record for read in cls.readers if (record := read(line)) is not None)


@cache
def _read(file: Path, _changed: int) -> DeclaredRule | str:
    try:
        return read(file)
    except PluginError as error:
        return str(error)


def declared(files: Iterable[Path]) -> Iterator[tuple[Path, DeclaredRule | str]]:
    """Yield what files declare, or what is wrong with them."""
    for file in files:
        try:
            yield file, _read(file, file.stat().st_mtime_ns)
        except OSError as error:
            yield file, f"{file.name}: {error}"


def class_name(rule: DeclaredRule) -> str:
    """Return what the class of a rule is called."""
    return rule.name.replace("-", " ").replace(".", " ").title().replace(" ", "")


def fill_lines(module: ModuleType, pack: str, files: Sequence[Path]) -> None:
    """Make the record types of all lines, and the log kinds: bare lines, and torch's records."""
    own = [rule for _, rule in declared(files) if isinstance(rule, DeclaredRule) and rule.marks]
    for prefixed in (False, True):
        rules = [rule for rule in own if rule.prefixed is prefixed]
        if not rules:
            continue
        readers: list[Callable[[str], Record | None]] = []
        for rule in rules:
            readers += _readers(module, rule)
        kind = f"{pack}_{'records' if prefixed else 'lines'}"
        attributes = {
            "__module__": module.__name__,
            "__doc__": f"Lines of the declarative rules of {pack}.",
            "name": kind,
            "switch": " or ".join(dict.fromkeys(rule.switch for rule in rules if rule.switch)),
            "marks": tuple(dict.fromkeys(mark for rule in rules for mark in rule.marks)),
            "prefixed": prefixed,
            "counted": not prefixed,
            "readers": tuple(readers),
            "examples": tuple(
                line for r in rules if not r.reads for line in r.example.splitlines()
            ),
        }
        setattr(module, kind, type(kind, (DeclaredLines,), attributes))


def _readers(module: ModuleType, rule: DeclaredRule) -> Iterator[Callable[[str], Record | None]]:
    base = {"__module__": module.__name__, "switch": rule.switch}
    name = class_name(rule)
    if not rule.reads:
        row = type(f"{name}Line", (Line,), {**base, "__qualname__": f"{name}Line"})
        setattr(module, row.__name__, row)
        yield _reader(rule, row)
    if rule.absent_unless is not None and rule.absent_unless.mark:
        proof = type(f"{name}Proof", (Line,), {**base, "__qualname__": f"{name}Proof"})
        setattr(module, proof.__name__, proof)
        mark = rule.absent_unless.mark
        yield lambda line: proof() if line.startswith(mark) else None


def _reader(rule: DeclaredRule, row: type[Line]) -> Callable[[str], Record | None]:
    """Return what reads a line."""
    if rule.lark:
        return _lark_reader(rule, row)
    if (pattern := rule.pattern) is None:
        mark = rule.mark
        return lambda line: (
            _row(row, {"rest": line[len(mark) :].strip()}) if line.startswith(mark) else None
        )

    def by_pattern(line: str) -> Record | None:
        match = pattern.match(line)
        return _row(row, match.groupdict()) if match else None

    return by_pattern


def _lark_reader(rule: DeclaredRule, row: type[Line]) -> Callable[[str], Record | None]:
    terminals = frozenset(rule.terminals())
    grammar: list[Lark] = []

    def by_grammar(line: str) -> Record | None:
        if not line.startswith(rule.mark):
            return None
        if not grammar:
            grammar.append(parser_of(rule))
        try:
            tree = grammar[0].parse(line)
        except LarkError as error:
            raise Unreadable(f"{rule.code}: {str(error).splitlines()[0]}") from None
        tokens = tree.scan_values(lambda value: isinstance(value, Token))
        return _row(row, {t.type.lower(): str(t) for t in tokens if t.type in terminals})

    return by_grammar


def parser_of(rule: DeclaredRule) -> Lark:
    """Return the parser of a rule's grammar, whose terminals are patterns that take linear time.

    Raises:
        ValueError: It is no grammar, or another parser's.
    """
    try:
        parser = Lark(rule.lark, parser="lalr", maybe_placeholders=False, import_paths=[])
    except (LarkError, OSError) as error:
        raise ValueError(" ".join(str(error).split())[:300]) from None
    for terminal in parser.terminals:
        try:
            regexes.check(terminal.pattern.to_regexp())
        except ValueError as error:
            raise ValueError(f"{terminal.name}: {error}") from None
    return parser


def _row(row: type[Line], values: Mapping[str, str | None]) -> Record:
    told = {name: _value(text) for name, text in values.items() if text is not None}
    return row(values=tuple(told.items()))


def _value(text: str) -> str | int | float:
    """Return a number where a text is one; one with a zero before it is a name."""
    digits = text.removeprefix("-")
    whole, point, part = digits.partition(".")
    if not whole.isdecimal() or len(digits) > 18 or (whole[0] == "0" and len(whole) > 1):
        return text
    if not point:
        return int(text)
    return float(text) if part.isdecimal() else text


def check_own_lines(rule: DeclaredRule, row: type[Line]) -> None:
    """Check the grammar of a rule, and that its example is read.

    Raises:
        ValueError: It is not; the message begins with the key.
    """
    if rule.lark:
        try:
            parser_of(rule)
        except ValueError as error:
            raise ValueError(f"lark: {error}") from None
    read_line = _reader(rule, row)
    try:
        found = [read_line(line) for line in rule.example.splitlines()]
    except Unreadable as error:
        raise ValueError(f"example: is not read: {error}") from None
    if not any(found):
        raise ValueError("example: none of its lines is read: give a line as it is in the log")
