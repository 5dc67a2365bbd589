"""Load a Lark grammar by the name of its log kind, and let it fill that kind's models.

The names do the work. Grammar rule ``primitive_exec`` fills the model ``PrimitiveExec``; terminal
``MS`` fills its field ``ms``; a nested model fills the field whose type admits it; a nested rule
without a model hands its children to the field of its name. Where a grammar has a terminal ``MDS``
and a rule ``mds``, and the field ``mds`` is not plain text, the terminal's text is parsed by that
rule, once per distinct text: logs repeat themselves so much that this is what makes them cheap to
read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from tracelens.automaton import Automaton, Doubt, Piece, Refused, Tables, at_hand, keep, place_of
from tracelens.errors import PluginError
from tracelens.instances import lean

if TYPE_CHECKING:
    from lark import Lark, Token

__all__ = ["Grammar", "Unreadable", "load", "path_of"]

_HERE = Path(__file__).parent
#: Distinct field texts remembered per grammar; beyond it the memory is emptied and starts again.
_MEMO = 20_000
_RULE = re.compile(r"^[?!]*([a-z]\w*)(?:\.-?\d+)?\s*:", re.MULTILINE)
_TERMINAL = re.compile(r"^([A-Z]\w*)(?:\.-?\d+)?\s*:", re.MULTILINE)


class Unreadable(ValueError):
    """A grammar refused a text. ``str()`` is the reason, in one line.

    Args:
        reason: Why; or what finds out why, and which line does not fit, once somebody asks.
        line: The line of the text that does not fit, from 1; 0 when that is not known.
    """

    def __init__(self, reason: str | Callable[[], tuple[str, int]], line: int = 0) -> None:
        super().__init__(reason)
        self._asked = reason
        self._line = line

    @cached_property
    def _why(self) -> tuple[str, int]:
        return (self._asked, self._line) if isinstance(self._asked, str) else self._asked()

    def __str__(self) -> str:
        """Return the reason."""
        return self._why[0]

    @property
    def line(self) -> int:
        """The line of the text that does not fit, from 1; 0 when that is not known."""
        return self._line or self._why[1]


class Branch(list[Any]):
    """The children of a grammar rule that has no model of its own."""

    def __init__(self, name: str, children: list[Any]) -> None:
        super().__init__(children)
        self.name = name


class Splice:
    """What Lark puts the children of in the place of a rule whose name begins with an underscore.

    Lark's own rules for ``*`` and ``+`` are such rules, one inside the other; the list of children
    is handed on and not copied, so that a record of 100,000 lines costs no more per line than a
    short one.
    """

    __slots__ = ("children",)

    def __init__(self, children: list[Any]) -> None:
        self.children = children


def path_of(name: str, module: str) -> Path:
    """Return the ``.lark`` file of log kind ``name`` whose models are in ``module``.

    Beside the module in a pack; in the package in a wheel; beside the package in a checkout.
    """
    beside = Path(sys.modules[module].__file__ or "").with_suffix(".lark")
    places = [
        beside,
        _HERE / "grammars" / f"{name}.lark",
        _HERE.parent / "grammars" / f"{name}.lark",
    ]
    for place in places:
        if place.is_file():
            return place
    raise PluginError(f"{module}: no grammar {name}.lark", hint=f"looked in {beside.parent}")


@cache
def load(name: str, module: str) -> Grammar:
    """Return the grammar of log kind ``name``, built on first use."""
    return Grammar(path_of(name, module), vars(sys.modules[module]))


class Grammar:
    """One ``.lark`` file bound to the models of one module."""

    def __init__(self, path: Path, models: dict[str, Any]) -> None:
        self.path = path
        self._models = models
        self._text = text = path.read_text(encoding="utf-8")
        self._rules = tuple(dict.fromkeys(_RULE.findall(text)))
        terminals = set(_TERMINAL.findall(text))
        self._starts = frozenset(rule for rule in self._rules if rule.upper() in terminals)
        self._memo: dict[tuple[str, str], Any] = {}
        #: Lark's tables, walked without what Lark does for others; None where they are unlike.
        self.quick = None if self.tables is None else Automaton(self.tables, self._maker)

    @cached_property
    def _lark(self) -> Lark:
        """What Lark makes of the grammar."""
        from tracelens import lark_tables  # noqa: PLC0415 -- most texts are read without it

        starts = ["start", *(rule for rule in self._rules if rule in self._starts)]
        place = place_of(self.path, self._text)
        return lark_tables.parser(self.path, self._text, starts, self._builder(), place)

    @cached_property
    def tables(self) -> Tables | None:
        """What a wheel holds or was kept, else what Lark builds; None where it is not walked."""
        if (tables := at_hand(self.path, self._text)) is None:
            from tracelens import lark_tables  # noqa: PLC0415 -- once per grammar and user

            tables = lark_tables.tables(self._lark)
            if tables is not None and (place := place_of(self.path, self._text)):
                keep(place, tables)
        return tables

    def parse(self, text: str, start: str = "start") -> Any:
        """Parse ``text``; the result is a model, or a list of what stands under ``start``.

        Raises:
            Unreadable: The grammar or a model refused the text.
        """
        if self.quick is not None:
            try:
                return self.quick.parse(text, start)
            except Refused as error:
                raise Unreadable(partial(self._refusal, text, start), error.line) from None
            except Doubt:
                pass
        return self.parse_plainly(text, start)

    def _refusal(self, text: str, start: str) -> tuple[str, int]:
        """Return why ``text`` is refused, and by which of its lines."""
        try:
            self.parse_plainly(text, start)
        except Unreadable as error:
            return str(error), error.line
        raise AssertionError(text)

    def parse_plainly(self, text: str, start: str = "start") -> Any:
        """Do the work of :meth:`parse` by Lark alone, which says why it refuses a text.

        Raises:
            Unreadable: The grammar or a model refused the text.
        """
        lark = self._lark
        from lark import LarkError  # noqa: PLC0415 -- most texts are read without it

        from tracelens import lark_tables  # noqa: PLC0415 -- the same

        try:
            return lark.parse(text, start=start)
        except Unreadable:
            raise
        except LarkError as error:
            if isinstance(cause := getattr(error, "orig_exc", None), Unreadable):
                raise cause from None
            line = lark_tables.line_of(error)
            raise Unreadable(lark_tables.reason(text, error), line) from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise Unreadable(f"{error.title}.{where}: {first['msg']}") from None

    def nested(self, start: str, text: str) -> Any:
        """Parse a field's text by the rule of the same name, once per distinct text."""
        key = (start, text)
        try:
            return self._memo[key]
        except KeyError:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            value = self._memo[key] = self.parse(text, start)
            return value

    def _within(self, token: Piece | Token, start: str) -> Any:
        """Parse a token's text by the rule ``start``; a refusal names the line of the whole."""
        try:
            return self.nested(start, str(token))
        except Unreadable as error:
            raise Unreadable(str(error), (token.line or 1) + max(0, error.line - 1)) from None

    def tokens(self, text: str, start: str = "start") -> int:
        """Count the tokens of ``text``: the cost of reading it, free of noise."""
        return sum(1 for _ in self._lark.parse_interactive(text, start=start).iter_parse())

    def check(self) -> None:
        """Check that every rule and every model has its counterpart.

        A rule without a model must be a field of the model above it, or be part of such a field;
        a record type that no rule fills says so (``Record.from_code``).

        Raises:
            PluginError: What a rule reads would be lost, or a model would never be filled.
        """
        users = self._users()
        lost = [rule for rule in self._rules if self._is_lost(rule, users, frozenset())]
        if lost:
            model = _model_of(lost[0])
            raise PluginError(
                f"{self.path}: rule {lost[0]!r} has no model {model} and fills no field",
                hint=f"name it as a field, add the model, or begin its name with _: _{lost[0]}",
            )
        for rule, terminal in self._fieldless(users):
            raise PluginError(
                f"{self.path}: rule {rule!r} reads {terminal}, and {_model_of(rule)} has no field "
                f"{terminal.lower()!r}",
                hint=f"add the field, or begin the terminal's name with _: _{terminal}",
            )
        filled = {_model_of(rule) for rule in self._rules if rule in users or rule == "start"}
        for name, model in self._models.items():
            if _wants_a_rule(model, self._models) and name not in filled:
                raise PluginError(
                    f"{self.path}: no rule fills the model {name}",
                    hint="say from_code = True in it where no grammar is to fill it",
                )

    def _fieldless(self, users: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
        """Yield rules with a model, and terminals in them that are no field of it."""
        for rule in self._lark.rules:
            name = rule.alias or rule.origin.name
            parts: list[Any] = [part for part in rule.expansion if part.is_term]
            kept = [one.name for one in parts if not one.filter_out]
            for user in users.get(name, ()) if name.startswith("_") else (name,):
                model = self._model(user)
                fields = model.model_fields if model is not None else {}
                for one in kept if model is not None else ():
                    if not {one.lower(), f"{one.lower()}s"} & fields.keys():
                        yield user, one

    def _users(self) -> dict[str, set[str]]:
        """Return for each rule the rules that it stands in; those with ``_`` are looked through."""
        direct: dict[str, set[str]] = {start: set() for start in ("start", *self._starts)}
        for rule in self._lark.rules:
            for part in rule.expansion:
                if not part.is_term:
                    direct.setdefault(part.name, set()).add(rule.alias or rule.origin.name)
            direct.setdefault(rule.alias or rule.origin.name, set())
            if rule.alias:
                direct[rule.alias] |= direct.setdefault(rule.origin.name, set())
        users: dict[str, set[str]] = {}
        for name, uses in direct.items():
            users[name], pending, seen = set(), list(uses), {name}
            while pending:
                user = pending.pop()
                if user in seen:
                    continue
                seen.add(user)
                if user.startswith("_"):
                    pending += direct.get(user, ())
                else:
                    users[name].add(user)
        return users

    def _is_lost(self, rule: str, users: dict[str, set[str]], above: frozenset[str]) -> bool:
        """Tell whether what ``rule`` reads would reach no model."""
        if rule == "start" or rule.startswith("_") or rule in self._starts or rule in above:
            return False
        if self._model(rule) is not None:
            return False
        if not users.get(rule):
            return True
        for user in users[rule]:
            model = self._model(user)
            fields = model.model_fields if model is not None else {}
            if rule in fields or f"{rule}s" in fields or user in self._starts:
                continue
            if model is not None or user == "start":
                return True
            if self._is_lost(user, users, above | {rule}):
                return True
        return False

    def _model(self, rule: str) -> type[BaseModel] | None:
        model = self._models.get(_model_of(rule))
        return model if isinstance(model, type) and issubclass(model, BaseModel) else None

    def _maker(self, rule: str) -> Callable[[list[Any]], Any]:
        """Return what makes something of a rule's children."""
        model = self._model(rule) if rule in self._rules else None
        return partial(_bare, rule) if model is None else self._filler(model)

    def _builder(self) -> object:
        builder = _Builder()
        for rule in self._rules:
            if (model := self._model(rule)) is not None:
                setattr(builder, rule, self._filler(model))
        return builder

    def _filler(self, model: type[BaseModel]) -> Callable[[list[Any]], BaseModel]:
        """Return the function that makes a ``model`` of a rule's children."""
        fields = model.model_fields
        admits = [(name, _models_in(field.annotation)) for name, field in fields.items()]
        admits = [(name, types) for name, types in admits if types]
        many = {name for name, field in fields.items() if _is_tuple(field.annotation)}
        nested = self._starts.intersection(name for name in fields if not _is_text(fields[name]))
        plural = {name[:-1]: name for name in many if name.endswith("s")}
        wants_at = "at" in fields

        def fill(children: list[Any]) -> BaseModel:
            values: dict[str, Any] = {}
            for child in children:
                if isinstance(child, str):  # a token, of ours or of Lark's
                    token: Any = child
                    name = token.type.lower()
                    value: Any = self._within(token, name) if name in nested else str(child)
                    if wants_at and "at" not in values:
                        values["at"] = (token.line or 1) - 1
                elif isinstance(child, Branch):
                    name, value = child.name, child
                else:
                    name = next((n for n, types in admits if isinstance(child, types)), "?")
                    value = [child] if name in many else child
                    if wants_at and "at" not in values:
                        values["at"] = getattr(child, "at", 0)
                name = plural.get(name, name)
                if name not in many:
                    values[name] = value
                elif isinstance(value, list):
                    values.setdefault(name, []).extend(value)
                else:
                    values.setdefault(name, []).append(value)
            return lean(model.model_validate(values))

        return fill


class _Builder:
    """What Lark asks for a function per rule; rules without a model become a :class:`Branch`."""

    def __default__(self, data: str, children: list[Any], _meta: object) -> Branch | Splice:
        return _bare(str(data), children)


def _bare(rule: str, children: list[Any]) -> Branch | Splice:
    """Make what stands for a rule without a model."""
    return Splice(children) if rule.startswith("_") else Branch(rule, children)


def _model_of(rule: str) -> str:
    """Return the name of the model that the rule ``rule`` fills."""
    return "".join(part.title() for part in rule.split("_"))


def _wants_a_rule(model: object, models: dict[str, Any]) -> bool:
    """Tell whether a grammar must fill it: no base of others, not private, not made by code."""
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return False
    if model.__module__ != models["__name__"] or model.__name__.startswith("_"):
        return False
    if getattr(model, "from_code", True):  # a part of records, and no record itself, has none
        return False
    others = (other for other in models.values() if isinstance(other, type) and other is not model)
    return not any(issubclass(other, model) for other in others)


def _is_tuple(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is tuple


def _is_text(field: Any) -> bool:
    return field.annotation is str or field.annotation == (str | None)


def _models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    return tuple(_walk(annotation))


def _walk(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _walk(part)
