"""Types of fields that are filled from a token's text, shared by log kinds."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from tracelens.words import is_whole

__all__ = ["Flag", "InBrackets", "Sizes", "Stripped"]


def _sizes(sizes: list[int | str]) -> tuple[int | str, ...]:
    bare = [str(size).strip(" ,") for size in sizes]
    return tuple(int(size) if is_whole(size) else size for size in bare)


def _is_there(text: object) -> bool:
    return bool(text)


# No bare `str.strip`, nor `bool`: pydantic wants a validator's signature, and of what is written in
# C it is found by Python's tokenizer, which takes as long to compile as many a grammar.

#: A text without the blanks and line breaks around it.
Stripped = Annotated[str, BeforeValidator(lambda text: text.strip())]
#: Text that stands where it says yes.
Flag = Annotated[bool, BeforeValidator(_is_there)]
#: A text without the blanks and round brackets around it.
InBrackets = Annotated[str, BeforeValidator(lambda text: text.strip(" ()"))]
#: The sizes or strides of a tensor; a symbolic one is its expression.
Sizes = Annotated[tuple[int | str, ...], BeforeValidator(_sizes)]
