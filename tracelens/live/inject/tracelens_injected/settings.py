"""Set attributes of torch's modules on first import, and arguments of ``torch.compile``."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

from .hooks import Hooks
from .journal import Journal
from .pins import pin

__all__ = ["install"]


def install(
    hooks: Hooks, config: dict[str, Any], arguments: dict[str, Any], journal: Journal | None
) -> None:
    """Have every setting made as soon as its module is there."""
    pending = dict(config)

    def settle(module: ModuleType) -> None:
        for name in [name for name in pending if name.startswith(module.__name__ + ".")]:
            found = _resolve(name)
            if found is None:
                continue
            owner, attribute = found
            wanted = pending.pop(name)
            try:
                before = _put(owner, attribute, wanted)
            except Exception as error:
                _tell(journal, note=f"{name}: {error}")
            else:
                _tell(journal, set=[name, before, wanted])
                _in_every_thread(owner, attribute, wanted)
                pin(owner, attribute, name, journal)

    for name, wanted in config.items():
        _add_later(hooks, name, [member for member in _names(wanted) if not _is_ready(member)])
    parents = {name.rpartition(".")[0] for name in config}
    for parent in parents:
        parts = parent.split(".")
        for count in range(1, len(parts) + 1):
            hooks.after(".".join(parts[:count]), settle)
    if arguments:
        hooks.after("torch", functools.partial(_override, arguments, journal))
    if journal is not None:
        _report_unset(pending, config, journal)


def _tell(journal: Journal | None, **what: Any) -> None:
    if journal is not None:
        journal.tell(**what)


def _resolve(name: str) -> tuple[Any, str] | None:
    """Return the object that holds a setting, and the attribute; None when it is not there yet."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        owner: Any = sys.modules.get(".".join(parts[:count]))
        if owner is None:
            continue
        for part in parts[count:-1]:
            owner = getattr(owner, part, None)
        if owner is not None and hasattr(owner, parts[-1]):
            return owner, parts[-1]
        return None
    return None


def _put(owner: Any, attribute: str, wanted: Any) -> Any:
    """Set an attribute, call it where it is a setter, add to it where it is a set.

    Return what was there.
    """
    before = getattr(owner, attribute)
    if inspect.isroutine(before):
        before(wanted)
        return None
    if isinstance(before, (set, frozenset)):
        members = (_member(name) for name in _names(wanted) if _is_ready(name))
        setattr(owner, attribute, {*before, *members})
        return repr(before)
    setattr(owner, attribute, wanted)
    return before if isinstance(before, (bool, int, float, str, type(None))) else repr(before)


def _in_every_thread(owner: Any, attribute: str, wanted: Any) -> None:
    """Make a value the default as well: torch keeps what is assigned for one thread only."""
    if type(owner).__name__ == "SubConfigProxy":  # config.triton: its values are the parent's
        owner, attribute = owner._config, owner._prefix + attribute
    entry: Any = getattr(owner, "_config", {}).get(attribute)
    if isinstance(wanted, (bool, int, float, str)) and hasattr(entry, "env_value_default"):
        entry.env_value_default = wanted


def _names(wanted: Any) -> list[str]:
    """Return the dotted names of members, if the value is a list of some."""
    names = [name.strip() for name in wanted.split(",")] if isinstance(wanted, str) else []
    return [name for name in names if "." in name]


def _is_ready(name: str) -> bool:
    """Whether a member is there from the start; others come with a module of a library."""
    return name.partition(".")[0] in {"builtins", "logging", "warnings"}


def _add_later(hooks: Hooks, setting: str, members: list[str]) -> None:
    """Add members to a set once the modules that define them have been imported."""

    def add(member: str, _: ModuleType) -> None:
        found = _resolve(setting)
        if found is not None and isinstance(before := getattr(*found), (set, frozenset)):
            setattr(*found, {*before, _member(member)})

    for member in members:
        hooks.after(member.rpartition(".")[0], functools.partial(add, member))


def _member(name: str) -> Any:
    """Return what a dotted name stands for."""
    parts = name.split(".")
    count = len(parts) - 1
    while count > 1 and ".".join(parts[:count]) not in sys.modules:
        count -= 1
    found: Any = importlib.import_module(".".join(parts[:count]))
    for part in parts[count:]:
        found = getattr(found, part)
    return found


def _override(arguments: dict[str, Any], journal: Journal | None, torch: ModuleType) -> None:
    """Replace ``torch.compile`` by one that knows better; ``nn.Module.compile`` calls it too."""
    compile_ = torch.compile
    counted: list[bool] = []

    @functools.wraps(compile_)
    def compile_with(model: Any = None, **given: Any) -> Any:
        given.update(arguments)
        if not counted:
            counted.append(True)
            for name, value in arguments.items():
                _tell(journal, force=[f"torch.compile({name}=)", True, repr(value)])
        # torch takes one of the two.
        if arguments.get("mode") is not None and "options" not in arguments:
            given.pop("options", None)
        if arguments.get("options") is not None and "mode" not in arguments:
            given.pop("mode", None)
        return compile_(model, **given)

    vars(torch)["compile"] = compile_with
    for name, value in arguments.items():
        _tell(journal, set=[f"torch.compile({name}=)", None, value])


def _report_unset(pending: dict[str, Any], config: dict[str, Any], journal: Journal) -> None:
    """At the end, say which settings found no place, and which the program has changed back."""

    def report() -> None:
        for name in pending:
            journal.tell(note=f"{name}: never imported, or no such setting")
        for name, wanted in config.items():
            found = _resolve(name) if name not in pending else None
            if found is None:
                continue
            now = getattr(*found)
            is_value = not inspect.isroutine(now) and not isinstance(now, (set, frozenset))
            if is_value and now != wanted:
                journal.tell(note=f"{name}: the program set it to {now!r}")

    journal.at_end.append(report)
