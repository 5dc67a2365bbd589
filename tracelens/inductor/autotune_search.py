"""The search behind an AUTOTUNE table: what it was about, what it took, who could have won."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.logs.autotune import AutotuneTable, Choice

__all__ = ["Key", "first_of_each", "is_gpu", "key", "kind", "line_of", "lost", "spent"]


Key = tuple[object, ...]


def key(table: AutotuneTable) -> Key:
    """Return what makes two searches the same: operator, sizes, strides and data types.

    Strides and data types are printed by torch 2.8 and later.
    """
    return table.op, table.sizes, table.strides, table.dtypes


def kind(choice: Choice) -> tuple[str, str]:
    """Return what makes two kernels the same, whatever their numbers: template and parameters."""
    stem = choice.kernel.rstrip("0123456789") if choice.is_template else choice.kernel
    return stem.rstrip("_"), choice.parameters


def spent(table: AutotuneTable) -> float:
    """Return the seconds that the search took: compiling, choosing and measuring candidates."""
    return (table.seconds or 0.0) + (table.precompiling or 0.0) + (table.prescreening or 0.0)


def lost(table: AutotuneTable) -> bool:
    """Whether a library call won, so that the search bought nothing."""
    return table.best is not None and not table.best.is_template


def first_of_each(tables: Iterable[AutotuneTable]) -> list[AutotuneTable]:
    """Return the first search for each shape.

    A second of tuning counts once: in TUN009 when the search is a repetition, else in TUN002 when
    a library won, else in TUN007.
    """
    first: dict[Key, AutotuneTable] = {}
    for table in tables:
        first.setdefault(key(table), table)
    return list(first.values())


def is_gpu(table: AutotuneTable) -> bool:
    """Whether a template for GPUs took part; a table of library calls alone does not say."""
    return any(c.is_template and not c.kernel.startswith("cpp_") for c in table.choices)


def line_of(text: str, word: str) -> int:
    """Return the first line of a record's text that holds ``word``; 0 when none does."""
    return next((at for at, line in enumerate(text.split("\n")) if word in line), 0)
