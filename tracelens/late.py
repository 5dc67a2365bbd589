"""Patterns that are compiled when they are first asked: of most logs, most never are."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, Generic, cast

__all__ = ["Late", "late"]


class Late(Generic[AnyStr]):
    """Stands for a compiled pattern; what was asked of it once is at hand from then on."""

    def __init__(self, written: AnyStr, flags: int) -> None:
        self._written: AnyStr = written
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The pattern itself."""
        from tracelens.compiled import compiled  # noqa: PLC0415 -- with it comes what reads files

        return compiled(self._written, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found


def late(written: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what does as ``re.compile(written, flags)``, and compiles it when it is first asked.

    For patterns of modules that every log needs: compiling all of those took a tenth of a small
    log's time.
    """
    return cast("re.Pattern[AnyStr]", Late(written, flags))
