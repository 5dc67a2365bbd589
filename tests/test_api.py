"""What packs may rely on (docs/packs.md): a name or a parameter that is gone shows here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import griffe
import pytest

ROOT = Path(__file__).parents[1]
#: The names as they were when they were written down: a class for each module.
KEPT = Path(__file__).with_name("api.txt")
PAGE = ROOT / "docs" / "packs.md"
MODULES = (
    *("tracelens", "tracelens.rules", "tracelens.logs", "tracelens.evidence", "tracelens.report"),
    *("tracelens.render", "tracelens.remedies", "tracelens.experiment", "tracelens.frames"),
    "tracelens.testing",
)


def stubs(where: Path, modules: tuple[str, ...]) -> Iterator[str]:
    """Yield lines of Python that say what the names in ``__all__`` of these modules look like."""
    package = griffe.load(
        modules[0], search_paths=[where], allow_inspection=False, resolve_aliases=True
    )
    for name in modules:
        module = package[name.partition(".")[2]] if "." in name else package
        yield f"class {name.replace('.', '_')}:"
        for exported in sorted(map(str, module.exports or ())):
            yield from stub(module[exported], "    ")


def stub(one: griffe.Object | griffe.Alias, before: str) -> Iterator[str]:
    if isinstance(one, griffe.Alias):
        one = one.final_target
    if isinstance(one, griffe.Function):
        yield f"{before}def {one.name}({', '.join(parameters(one))}): ..."
    elif isinstance(one, griffe.Attribute):
        yield f"{before}def {one.name}({value(one)}): ..."
    elif isinstance(one, griffe.Class):
        yield f"{before}class {one.name}:"
        for name, member in sorted(one.members.items()):
            if not name.startswith("_"):
                yield from stub(member, before + "    ")
        yield f"{before}    pass"


def parameters(one: griffe.Function) -> Iterator[str]:
    """Yield parameters, and which have a default; types may become wider."""
    marks = {"variadic positional": "*", "variadic keyword": "**"}
    named = False
    for each in one.parameters:
        kind = each.kind.value if each.kind else ""
        if kind == "keyword-only" and not named:
            yield "*"
        named |= kind in ("keyword-only", "variadic positional")
        default = "" if each.default is None or kind in marks else "=..."
        yield f"{marks.get(kind, '')}{each.name}{default}"


def value(one: griffe.Attribute) -> str:
    """Write an attribute as griffe's parameter, since it compares no attributes."""
    written = str(one.value or "")
    given = not written.startswith("Field(") or re.match(
        r"Field\((?!\w+=|\.\.\.)|Field\(.*\bdefault(_factory)?=", written, re.DOTALL
    )
    return "value=..." if written and given else "value"


def broken(before: str, after: str) -> list[str]:
    """List what griffe calls breaking."""
    old, new = (griffe.visit("m", Path("m.py"), text) for text in (before, after))
    return [
        f"{found.obj.path.removeprefix('m.')}: {found.kind.value}"
        for found in griffe.find_breaking_changes(old, new)
    ]


def test_nothing_that_packs_rely_on_is_gone() -> None:
    """What is new is written down by ``python -m tests.test_api``, once it is to stay."""
    kept = KEPT.read_text(encoding="utf-8")
    assert kept.count("\n") > 500
    assert broken(kept, "\n".join(stubs(ROOT, MODULES))) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("def f(a, b=1): ...", "def f(a, b=2, c=3): ...", []),
        ("def f(a, b=1): ...", "def f(a=1, b=1): ...", []),
        ("def f(a, *, b=1): ...", "def f(a, *, c=2, b=1): ...", []),
        ("def f(a, b=1): ...", "def f(a): ...", ["f: Parameter was removed"]),
        ("def f(a): ...", "def f(a, c): ...", ["f: Parameter was added as required"]),
        ("def f(a, b=1): ...", "def f(a, b): ...", ["f: Parameter is now required"]),
        ("def f(a, b): ...", "def f(b, a): ...", ["f: Positional parameter was moved"] * 2),
        ("def f(a): ...", "def g(a): ...", ["f: Public object was removed"]),
        ("class f:\n    def g(self): ...", "class f: ...", ["f.g: Public object was removed"]),
        ("class f:\n    x: int", "class f: ...", ["f.x: Public object was removed"]),
        ("class f:\n    x: int", "class f:\n    x: int = 1", []),
        ("class f:\n    x: int", "class f:\n    x: int = Field(default=1)", []),
        (
            "class f:\n    x: int = Field(1, description='')",
            "class f:\n    x: int = Field(description='')",
            ["f.x: Parameter is now required"],
        ),
    ],
)
def test_what_breaks_a_pack_is_told(
    before: str, after: str, said: list[str], tmp_path: Path
) -> None:
    found = []
    for turn, text in enumerate((before, after)):
        folder = tmp_path / str(turn)
        folder.mkdir()
        name = "f" if " f" in text else "g"
        (folder / "m.py").write_text(f"{text}\n__all__ = ['{name}']\n")
        found.append("\n".join(stubs(folder, ("m",))))
    assert [one.removeprefix("m.") for one in broken(*found)] == said


def test_the_page_names_the_same_modules() -> None:
    row = next(line for line in PAGE.read_text().splitlines() if "name in `__all__`" in line)
    assert re.findall(r"`(tracelens[\w.]*)`", row.partition("name in")[0]) == list(MODULES)


if __name__ == "__main__":
    KEPT.write_text("\n".join(stubs(ROOT, MODULES)) + "\n", encoding="utf-8")
