"""Models that are made by the hundred thousand: less room for each, and no asking twice.

A model remembers which of its fields were given, each in a set of its own that takes more room than
what it says. Records are frozen, so those of one kind and one set of fields may share it. And what
was validated in parts need not be validated as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, PlainSerializer

__all__ = ["STRUCTS", "alike", "lean", "made"]

M = TypeVar("M", bound=BaseModel)

_set = object.__setattr__

#: For a field of a model that holds structs: it is dumped as if these were models.
STRUCTS = PlainSerializer(
    lambda held: msgspec.to_builtins(held, enc_hook=lambda model: model.model_dump())
)
_FIELDS: dict[frozenset[str], set[str]] = {}


def lean(model: M) -> M:
    """Return ``model``; one that is frozen shares the set of its fields with others."""
    if not model.model_config.get("frozen"):
        return model
    fields = model.__pydantic_fields_set__
    held = _FIELDS.setdefault(frozenset(fields), fields)
    if held is not fields:
        _set(model, "__pydantic_fields_set__", held)
    return model


def alike(model: M, values: Mapping[str, Any]) -> M:
    """Return a model as ``model``, which is frozen, with other ``values`` of fields given in it.

    They are believed to be of the right types.
    """
    kind = type(model)
    made = kind.__new__(kind)
    _set(made, "__dict__", {**model.__dict__, **values})
    _set(made, "__pydantic_fields_set__", model.__pydantic_fields_set__)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def made(kind: type[M], values: Mapping[str, Any]) -> M:
    """Return a frozen model of ``kind`` with ``values``, believed to be of the right types."""
    blank: M = _blank(kind, tuple(values))
    return alike(blank, values)


@cache
def _blank(kind: type[M], names: tuple[str, ...]) -> M:
    return kind.model_construct(set(names), **dict.fromkeys(names))
