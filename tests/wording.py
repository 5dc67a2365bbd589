"""The words that a rule's code looks for, put into what it reads and taken out of it.

So each side of ``"omp_" in symbol or "kmpc" in symbol`` is seen, though no log has them all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["EVERY", "with_words", "words_of"]

#: Words of a rule that are tried, and how long one is.
MAX_WORDS, MAX_LENGTH = 5, 40
#: The name of a text with all of them.
EVERY = "with every word"

_METHODS = {"startswith", "endswith", "partition", "rpartition", "split", "find", "get"}


@cache
def words_of(module: Path) -> tuple[str, ...]:
    """Return the first words that a module compares with or looks for."""
    found: list[str] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            found += _texts(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found += _texts(*node.args) if node.func.attr in _METHODS else ()
        elif isinstance(node, ast.Set | ast.Dict):
            found += _texts(*(node.elts if isinstance(node, ast.Set) else filter(None, node.keys)))
    words = [word for word in dict.fromkeys(found) if 0 < len(word) <= MAX_LENGTH]
    return tuple(words[:MAX_WORDS])


def with_words(text: str, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield texts with each of the words where it is not, and without it where it is."""
    if words:
        yield EVERY, " ".join([text, *words])
    for word in words:
        if word in text:
            yield f"without {word}", text.replace(word, "")
        else:
            yield f"and {word}", f"{text} {word}" if " " in text else word


def _texts(*nodes: ast.AST) -> list[str]:
    within = (one for node in nodes for one in ast.walk(node))
    return [
        one.value for one in within if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
