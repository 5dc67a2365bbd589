"""Types of fields that are filled from a token's text, shared by log kinds."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from tracelens.words import is_whole

__all__ = ["InBrackets", "Sizes", "Stripped"]


def _sizes(sizes: list[int | str]) -> tuple[int | str, ...]:
    bare = [str(size).strip(" ,") for size in sizes]
    return tuple(int(size) if is_whole(size) else size for size in bare)


#: A text without the blanks and line breaks around it.
Stripped = Annotated[str, BeforeValidator(str.strip)]
#: A text without the blanks and round brackets around it.
InBrackets = Annotated[str, BeforeValidator(lambda text: text.strip(" ()"))]
#: The sizes or strides of a tensor; a symbolic one is its expression.
Sizes = Annotated[tuple[int | str, ...], BeforeValidator(_sizes)]
