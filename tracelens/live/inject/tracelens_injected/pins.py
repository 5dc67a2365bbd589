"""Keep a setting as it was put, though the program sets it too: what is tested is the setting.

torch's own code may still change it, as it does around single compilations.
"""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

from .journal import Journal

__all__ = ["pin"]

#: (id of the owner, attribute) -> (owner, name of the setting, whether it was told).
_pinned: dict[tuple[int, str], list[Any]] = {}
_guarded: set[type] = set()


def pin(owner: Any, attribute: str, setting: str, journal: Journal | None) -> None:
    """Let assignments that are not made by torch pass without effect.

    It works for the configuration objects of torch, which have classes of their own; the attributes
    of a plain module cannot be pinned.
    """
    if type(owner).__name__ == "SubConfigProxy":  # config.triton: its values are the parent's
        owner, attribute = owner._config, owner._prefix + attribute
    kind = type(owner)
    if kind is ModuleType or isinstance(owner, type):
        return
    _pinned[id(owner), attribute] = [owner, setting, False]
    if kind not in _guarded:
        _guarded.add(kind)
        _guard(kind, journal)


def _guard(kind: Any, journal: Journal | None) -> None:
    original = kind.__setattr__

    def set_unless_pinned(self: Any, name: str, value: Any) -> None:
        held = _pinned.get((id(self), name))
        if held is None or _is_allowed(sys._getframe(1)):
            original(self, name, value)
        elif journal is not None and not held[2]:
            held[2] = True
            journal.tell(kept=[held[1], repr(value)])

    kind.__setattr__ = set_unless_pinned


def _is_allowed(frame: FrameType | None) -> bool:
    """Whether torch makes the assignment, or we, not the program through a proxy of torch's."""
    if frame is not None and frame.f_code.co_name == "__setattr__":
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame is not None else ""
    return name.partition(".")[0] in {"torch", __name__.partition(".")[0]}
