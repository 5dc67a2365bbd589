"""The user's line for which a guard stands, as guards and reasons of recompiles tell it."""

from __future__ import annotations

from typing import ClassVar

from pydantic import ConfigDict

from tracelens.logs import Record

__all__ = ["Comment", "Said"]


class Said(Record):
    """What a guard says, without the blanks around it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True
    )


class Comment(Said):
    """The user's line for which a guard stands, after the guard itself.

    ``file`` is shortened by torch to what follows the directory that it shares with site-packages,
    plus one character: ``proj/model.py``, or ``sers/ana/model.py`` for ``/Users/ana/model.py``.
    """

    code: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    #: Torch's own line that made the guard, ``_dynamo/variables/tensor.py:2606 in evaluate_expr``.
    origin: str = ""
    #: Not empty where torch says that 0/1 specialisation made the guard, not the user's code.
    zero_one: str = ""
    hint: str = ""
    #: What else is said, such as ``(unknown var s77, please file a bug)``.
    note: str = ""
