"""Lengths within one container, and containers whose items no operator takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.dynamo.entry_guards import entry_of
from tracelens.evidence import Table
from tracelens.logs.guards import Guard, GuardTree
from tracelens.remedies import Remedy
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import RecompileData
from tracelens.words import plural

__all__ = ["LEAVE_TEXTS", "LengthData", "by_container", "containers_in", "texts_in", "texts_of"]

#: The items of a container: ``batch['words'][0]``.
_ITEM = re.compile(r"(?:\[\d{1,9}\]){1,8}\Z")
#: An argument that is passed by name and that the function has no parameter for.
_PASSED = re.compile(r"L\['kwargs'\]\['(?P<name>\w{1,80})'\](?P<rest>.{0,200})", re.DOTALL)
_ASKED = re.compile(r"___dict_contains\('(?P<name>\w{1,80})', L\['kwargs'\]\)")
#: Two names of one object: nothing is read.
_SAME = re.compile(r" is (?:not )?L\['")
_TEXT = re.compile(r"(?:\[\d{1,9}\])+ (?:== ['\"]|is None)")
_SEQUENCE = re.compile(r"type=<class '(?:list|tuple)'>|HINT: type (?:list|tuple)\b")


class LengthData(RecompileData):
    """One cause of recompiles, of which the container is passed to the model and not read."""

    #: Arguments by name whose items are strings or ``None`` alone, which no operator takes.
    texts: tuple[str, ...] = ()


def _source(group: Group) -> str:
    return group.cause.what.removeprefix("the length of ").strip("`")


def by_container(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """Yield the groups that are about one container of a function, the outermost first.

    The length of a list and those of its items are one thing to change.
    """
    found: dict[tuple[object, ...], list[Group]] = {}
    for group in groups:
        key = (*group.history.definition, _ITEM.sub("", _source(group)))
        found.setdefault(key, []).append(group)
    for same in found.values():
        yield sorted(same, key=lambda one: len(_source(one)))


def containers_in(same: list[Group]) -> str:
    """Say which lengths within the container changed as well; empty where none did."""
    if len(same) == 1:
        return ""
    times = sum(len(one.steps) for one in same[1:])
    names = ", ".join(f"`{_source(one)}`" for one in same[1:3])
    more = " and more" if len(same) > 3 else ""
    return f" Lengths within it changed, too: {names}{more}, {plural(times, 'recompile')}."


def texts_of(group: Group, trees: Table[GuardTree]) -> tuple[str, ...]:
    """Return the arguments by name of which all items that are guarded are strings or ``None``.

    No operator takes those. What a line of the code names, or the code asks for, is left out: it is
    read. Empty where the container of the group is none of them.
    """
    found: dict[str, bool] = {}
    for _, step in group.steps:
        for tree in entry_of(step.place, trees):
            for guard in tree.guards:
                _look(guard, found)
    names = tuple(name for name, is_text in found.items() if is_text)
    own = re.match(r"kwargs\['(\w{1,80})'\]", _source(group))
    return names if own and own[1] in names and group.history.function == "forward" else ()


def _look(guard: Guard, found: dict[str, bool]) -> None:
    """Note of the argument that a guard is about whether it may be one of those."""
    if guard.is_manager or _SAME.search(guard.expression):
        return
    if asked := _ASKED.search(guard.expression):
        found[asked["name"]] = False
    if not (passed := _PASSED.search(guard.expression)):
        return
    name, code = passed["name"], guard.comment.code if guard.comment else ""
    if re.search(rf"\b{name}\b", code or ""):
        found[name] = False
    elif _TEXT.match(passed["rest"]):
        found.setdefault(name, True)
    elif guard.kind != "LENGTH_CHECK" and not _is_sequence(guard, passed["rest"]):
        found[name] = False


def _is_sequence(guard: Guard, rest: str) -> bool:
    hint = guard.comment.hint if guard.comment else ""
    return guard.kind == "TYPE_MATCH" and bool(_SEQUENCE.search(f"{rest} HINT: {hint or ''}"))


def texts_in(data: RecompileData) -> tuple[str, ...]:
    """Return the names of such arguments that a finding holds."""
    return data.texts if isinstance(data, LengthData) else ()


def _without(data: LengthData) -> str:
    names = ", ".join(f'"{one}"' for one in data.texts)
    return (
        "compiled.register_forward_pre_hook(\n"
        "    lambda module, args, kwargs: (\n"
        f"        args, {{k: v for k, v in kwargs.items() if k not in {{{names}}}}}\n"
        "    ),\n"
        "    with_kwargs=True,\n"
        ")"
    )


def _left(data: LengthData) -> str:
    names = ", ".join(f"`{one}`" for one in data.texts)
    them, their = ("it", "its") if len(data.texts) == 1 else ("them", "their")
    return (
        f"Leave {names} out of the call, where nothing in what is compiled reads {them}: {their} "
        "items are strings or `None`, which no operator takes, and each is guarded. With "
        f"`compiled` for what `torch.compile` returns, this drops {them}. Compare the results once."
    )


LEAVE_TEXTS = Remedy(
    "leave-texts",
    _left,
    when="an argument by name whose guarded items are strings or `None`, and that no line names",
    applies=lambda data: bool(texts_in(data)),
    code=_without,
    basis="tested",
    proof="tests/advice/RCP017/leave-texts.py",
)
