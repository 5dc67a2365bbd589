"""The words of what we say ourselves: somebody may be called like one of them.

A user's name is replaced where it stands alone, too. One that is a word of ours as well (``held``,
``mark``) would be replaced in our sentences, and in the code that they give.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["is_ours", "written"]

_FILE = Path(__file__).with_name("prose.txt")
#: Where sentences, and code to copy, are written.
_FOLDERS = ("dynamo", "inductor", "onednn", "render", "report", "rules", "traces")
_FILES = ("remedies.py", "words.py")
#: Who owns the paths in examples.
_NOBODY = {"ana"}


def is_ours(name: str) -> bool:
    """Tell whether a name is a word of ours."""
    return f"\n{name.lower()}\n" in _words()


@cache
def _words() -> str:
    return _FILE.read_text(encoding="ascii")


def written() -> str:
    """Return what the file is to hold: the words of all strings but documentation."""
    found = {word for path in _sources() for word in _of(path)} - _NOBODY
    return "".join(f"\n{word}" for word in sorted(found)) + "\n"


def _sources() -> Iterator[Path]:
    root = _FILE.parents[1]
    for folder in _FOLDERS:
        yield from sorted((root / folder).rglob("*.py"))
    yield from (root / name for name in _FILES)


def _of(path: Path) -> Iterator[str]:
    import ast  # noqa: PLC0415 -- the file is made with it, nothing else
    import re  # noqa: PLC0415

    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    documented = (
        one for one in ast.walk(tree) if isinstance(one, kinds) and ast.get_docstring(one)
    )
    pages = {id(one.body[0].value) for one in documented if isinstance(one.body[0], ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in pages:
            for word in re.findall(r"(?<![^\W_])[A-Za-z]{3,20}(?![^\W_])", one.value):
                yield word.lower()
