"""What packs may rely on (docs/packs.md): a name or a parameter that changes shows here."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

#: The names as they were when they were written down.
KEPT = Path(__file__).with_name("api.txt")
PAGE = Path(__file__).parents[1] / "docs" / "packs.md"
MODULES = (
    *("tracelens", "tracelens.rules", "tracelens.logs", "tracelens.evidence", "tracelens.report"),
    *("tracelens.render", "tracelens.remedies", "tracelens.experiment", "tracelens.frames"),
    "tracelens.testing",
)


def described(name: str, value: object) -> Iterator[str]:
    """Yield a line for a name, and for each public name that a class of ours adds."""
    if not inspect.isclass(value):
        yield f"{name}{signature(value)}"
        return
    yield f"class {name}"
    if issubclass(value, enum.Enum):
        yield from (f"  {name}.{member}" for member in value.__members__)
        return
    fields = value.model_fields if issubclass(value, BaseModel) else {}
    for field, about in sorted(fields.items()):
        yield f"  {name}.{field}: {'required' if about.is_required() else 'optional'}"
    annotated = set(inspect.get_annotations(value)) - set(fields)
    for own in sorted(annotated | set(vars(value))):
        if not own.startswith("_") and own not in fields and not own.startswith("model_"):
            held = inspect.getattr_static(value, own, None)
            held = getattr(held, "__func__", held)
            yield f"  {name}.{own}{signature(held) if inspect.isfunction(held) else ''}"


def signature(value: object) -> str:
    """Return parameters by name and kind, and which have a default; types may become wider."""
    if not callable(value):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return ""
    marks: dict[object, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    words: list[str] = []
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        default = "=" if one.default is not one.empty else ""
        words.append(f"{marks.get(one.kind, '')}{one.name}{default}")
    return f"({', '.join(words)})"


def lines() -> Iterator[str]:
    for module in MODULES:
        for name in sorted(importlib.import_module(module).__all__):
            for line in described(name, getattr(importlib.import_module(module), name)):
                yield f"{module}: {line.strip()}"


def broken(before: Iterable[str], after: Iterable[str]) -> Iterator[str]:
    """Yield what was there and is not, or asks for more than it did; more is no harm."""
    now = dict(map(parts, after))
    for name, was in map(parts, before):
        if name not in now:
            yield f"{name} is gone"
            continue
        gone = {one.rstrip("=") for one in was} - {one.rstrip("=") for one in now[name]}
        asked = {one for one in now[name] if not one.endswith("=") and one[0] != "*"} - set(was)
        yield from (
            f"{name}: {one} is gone" for one in sorted(gone - {"required", "optional", "*"})
        )
        yield from (f"{name}: {one} must be given" for one in sorted(asked - {"optional"}))


def parts(line: str) -> tuple[str, list[str]]:
    """Split a line into a name and its parameters, or whether the field must be given."""
    name, _, rest = line.rstrip(")").partition("(")
    if not rest and line.endswith((": required", ": optional")):
        name, _, rest = line.rpartition(": ")
    return name, [one for one in rest.split(", ") if one]


def test_nothing_that_packs_rely_on_is_gone() -> None:
    """What is new is written down by ``python -m tests.test_api``, once it is to stay."""
    kept = KEPT.read_text(encoding="utf-8").splitlines()
    assert len(kept) > 300
    assert list(broken(kept, lines())) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("m: f(a, b=)", "m: f(a, b=, c=)", []),
        ("m: f(a, b=)", "m: f(a=, *, b=)", []),
        ("m: f(a, b=)", "m: f(a)", ["m: f: b is gone"]),
        ("m: f(a)", "m: f(a, c)", ["m: f: c must be given"]),
        ("m: f(a, b=)", "m: f(a, b)", ["m: f: b must be given"]),
        ("m: f(a)", "m: g(a)", ["m: f is gone"]),
        ("m: F.x: required", "m: F.x: optional", []),
        ("m: F.x: optional", "m: F.x: required", ["m: F.x: required must be given"]),
    ],
)
def test_what_breaks_a_pack_is_told(before: str, after: str, said: list[str]) -> None:
    assert list(broken([before], [after])) == said


def test_the_page_names_the_same_modules() -> None:
    row = next(line for line in PAGE.read_text().splitlines() if "name in `__all__`" in line)
    assert re.findall(r"`(tracelens[\w.]*)`", row.partition("name in")[0]) == list(MODULES)


def test_a_change_shows() -> None:
    def first(path: str, *, kind: str = "") -> None: ...

    assert signature(first) == "(path, *, kind=)"
    assert list(described("first", first)) == ["first(path, *, kind=)"]


if __name__ == "__main__":
    KEPT.write_text("\n".join(lines()) + "\n", encoding="utf-8")
