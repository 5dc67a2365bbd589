"""Declarative rules: a ``.toml`` file in a folder of rules is a rule, without any Python.

This module reads such files and says what is wrong in them; :mod:`tracelens.plugins.declared_rules`
makes rules and log kinds of them. Nothing in a file is run: its patterns are checked
(:mod:`tracelens.plugins.regexes`), its texts are filled in by name only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracelens.errors import PluginError, closest
from tracelens.plugins import regexes

__all__ = ["Condition", "DeclaredAdvice", "DeclaredRule", "Looks", "check_fields", "filled", "read"]

Value = str | int | float
#: A field of the line in a title, a message or an advice.
_FIELD = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_COMPARISON = re.compile(r"(>=|<=|!=|>|<) ?(.{1,200})")
_TERMINAL = re.compile(r"^([A-Z][A-Z0-9_]*)(?:\.-?\d+)?\s*:", re.MULTILINE)
_READS = re.compile(r"(?P<kind>[a-z][a-z0-9_]*)\.(?P<record>[A-Z][A-Za-z0-9]*)")
#: Bytes of a file.
MAX_SIZE = 100_000


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=lambda name: name.replace("_", "-"),
    )


class DeclaredAdvice(_Part):
    """One thing to do."""

    text: str
    setting: str | None = None
    env: str | None = None
    code: str | None = None
    since: str | None = None
    until: str | None = None


class Looks(_Part):
    """What to look at: lines of its own, or the records of a log kind."""

    mark: str = ""
    reads: str = ""


class DeclaredRule(_Part):
    """The keys of a file."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{3}[0-9]{3}$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+([-.][a-z0-9]+)*$")]
    summary: Annotated[str, Field(min_length=1)]
    severity: Literal["error", "warning", "info", "none"] = "warning"
    title: Annotated[str, Field(min_length=1)]
    message: str
    #: One of these says what is looked at.
    mark: str = ""
    regex: str = ""
    lark: str = ""
    reads: str = ""
    #: Whether the lines stand behind torch's log prefix.
    prefixed: bool = False
    where: dict[str, Value | list[Value]] = {}
    #: The fields that tell one finding from another; all when left out.
    about: tuple[str, ...] | None = None
    #: How often at least it must have been seen.
    at_least: Annotated[int, Field(ge=1)] = 1
    #: A note on the line that is quoted.
    evidence: str = ""
    advice: tuple[DeclaredAdvice, ...] = ()
    #: What prints the lines.
    switch: str = ""
    #: Evidence that the lines would be there, had there been any.
    absent_unless: Looks | None = None
    #: Why there is nothing to do; with severity none.
    harmless: str = ""
    why: Annotated[str, Field(min_length=1)]
    example: Annotated[str, Field(min_length=1)]
    when_harmless: str = ""
    see_also: str = ""

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """What the lines look like, where that is a regular expression."""
        return re.compile(self.regex) if self.regex else None

    @property
    def marks(self) -> tuple[str, ...]:
        """What its own lines begin with."""
        own = self.mark or (regexes.literal_start(self.regex) if self.regex else "")
        proof = self.absent_unless.mark if self.absent_unless else ""
        return tuple(filter(None, (own, proof)))

    def terminals(self) -> tuple[str, ...]:
        """The names of its grammar's terminals."""
        return tuple(dict.fromkeys(_TERMINAL.findall(self.lark)))

    def fields(self) -> tuple[str, ...] | None:
        """The fields of a line; None where a log kind's record has them."""
        if self.reads:
            return None
        if self.regex:
            return tuple(re.compile(self.regex).groupindex)
        return tuple(name.lower() for name in self.terminals()) if self.lark else ("rest",)


class Condition:
    """What a field must be: a value, one of several, or on one side of a number."""

    def __init__(self, wanted: Value | list[Value]) -> None:
        self._among: tuple[Value, ...] = ()
        self._sign, self._limit = "", 0.0
        match = _COMPARISON.fullmatch(wanted) if isinstance(wanted, str) else None
        if match is None:
            self._among = tuple(wanted) if isinstance(wanted, list) else (wanted,)
        elif match[1] == "!=":
            self._sign, self._among = "!=", (match[2],)
        else:
            self._sign, self._limit = match[1], float(match[2])

    def holds(self, value: object) -> bool:
        """Tell whether the value of a field fulfils it."""
        if self._among:
            same = any(value == one or str(value) == str(one) for one in self._among)
            return same != (self._sign == "!=")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        sides = {">=": value >= self._limit, "<=": value <= self._limit}
        return sides.get(
            self._sign, value > self._limit if self._sign == ">" else value < self._limit
        )


def filled(text: str, fields: Mapping[str, object]) -> str:
    """Return ``text`` with the values of fields in the place of their names in braces."""
    return _FIELD.sub(lambda match: str(fields.get(match[1], match[0])), text)


def read(file: Path) -> DeclaredRule:
    """Return what a file declares.

    Raises:
        PluginError: It is no rule; the message names the file, the key and what to write.
    """
    import tomllib  # noqa: PLC0415 -- costly, and only where a pack has such files

    where = f"{file.parent.name}/{file.name}"
    try:
        if file.stat().st_size > MAX_SIZE:
            raise PluginError(f"{where}: more than {MAX_SIZE:,} bytes")
        rule = DeclaredRule.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PluginError(f"{where}: {error}") from error
    except ValidationError as error:
        raise PluginError(f"{where}: {_what(error)}") from None
    for key, problem in _problems(rule):
        raise PluginError(f"{where}: {key}: {problem}")
    return rule


def check_fields(rule: DeclaredRule, known: tuple[str, ...]) -> None:
    """Check that only fields are named that a line, or the record, has.

    Raises:
        ValueError: Another one; the message begins with the key.
    """
    texts = {"title": rule.title, "message": rule.message, "evidence": rule.evidence}
    for number, advice in enumerate(rule.advice, 1):
        for key, text in advice.model_dump(exclude_none=True).items():
            texts[f"advice {number}, {key}"] = text
    named = [(key, name) for key, text in texts.items() for name in _FIELD.findall(text)]
    named += [("where", name) for name in rule.where]
    named += [("about", name) for name in rule.about or ()]
    for key, name in named:
        if name not in known and not (name == "count" and key not in {"where", "about"}):
            listed = ", ".join(known) or "none"
            raise ValueError(f"{key}: there is no field {name!r}; there are: {listed}")


def _what(error: ValidationError) -> str:
    """Return the key, and what to write."""
    every = error.errors(include_url=False)
    first = next((one for one in every if one["type"] == "extra_forbidden"), every[0])
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = [name.replace("_", "-") for name in DeclaredRule.model_fields]
        hint = closest(key, known, f"there are {', '.join(known)}")
        return f"{key}: there is no such key ({hint})"
    if first["type"] == "missing":
        return f"{key}: is missing: write {key} = {_LIKE.get(key, '...')!r}"
    written = f", as {_LIKE[key]!r}" if key in _LIKE else ""
    return f"{key}: {first['msg']}{written}"


_LIKE = {
    "code": "ABC001",
    "name": "what-is-wrong",
    "summary": "One sentence.",
    "title": "Core {core} spills",
    "message": "What that costs.",
    "why": "What it costs, and why.",
    "example": "a line as it is in the log",
}


def _problems(rule: DeclaredRule) -> Any:
    """Yield (key, what to write) for what no single key tells."""
    given = [key for key in ("mark", "regex", "lark", "reads") if getattr(rule, key)]
    if given not in (["mark"], ["regex"], ["mark", "lark"], ["reads"]):
        yield "mark", "write one of mark, regex, mark with lark, or reads"
    yield from _line_problems(rule) if not rule.reads else _record_problems(rule)
    proof = rule.absent_unless
    if proof is not None and bool(proof.mark) == bool(proof.reads):
        yield "absent-unless", 'write a mark or reads, as { mark = "loaded backend" }'
    if proof is not None and proof.reads and not _READS.fullmatch(proof.reads):
        yield "absent-unless.reads", "write the log kind and its record, as graph_breaks.GraphBreak"
    if (rule.severity == "none") != bool(rule.harmless):
        yield "harmless", 'say why there is nothing to do with severity = "none", and only then'
    for key, value in rule.where.items():
        match = _COMPARISON.fullmatch(value) if isinstance(value, str) else None
        if match and match[1] != "!=" and not _is_number(match[2]):
            yield f"where.{key}", f'{value!r}: compare with a number, as ">= 4096"'
        if value == []:
            yield f"where.{key}", "name at least one value"


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _line_problems(rule: DeclaredRule) -> Any:
    """Yield what is wrong with how its lines are known."""
    if not rule.switch:
        yield "switch", "say what prints the lines, as BACKEND_LOG=1"
    if rule.mark and len(rule.mark.strip()) < 3:
        yield "mark", "three characters at least: lines of anybody begin with fewer"
    if rule.regex:
        try:
            regexes.check(rule.regex)
        except ValueError as error:
            yield "regex", str(error)
        else:
            if len(regexes.literal_start(rule.regex).strip()) < 3:
                yield "regex", "begin it with the text that the lines begin with, three at least"
    if not rule.reads and (fields := rule.fields()) is not None:
        try:
            check_fields(rule, fields)
        except ValueError as error:
            key, _, problem = str(error).partition(": ")
            yield key, problem


def _record_problems(rule: DeclaredRule) -> Any:
    if not _READS.fullmatch(rule.reads):
        yield "reads", "write the log kind and its record, as onednn_verbose.PrimitiveExec"
    if rule.prefixed or rule.switch:
        yield "prefixed" if rule.prefixed else "switch", "the log kind says it: leave it out"
