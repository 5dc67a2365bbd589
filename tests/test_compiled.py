"""Patterns that are kept between runs are those that Python compiles."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracelens
from tracelens import compiled, context, grammars
from tracelens.late import Late
from tracelens.logs import Log
from tracelens.plugins.registry import discover

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with context.using(context.Context(cache=tmp_path)):
        compiled._store.cache_clear()
        yield tmp_path
    compiled._store.cache_clear()


def _again(written: Any, flags: int) -> re.Pattern[Any]:
    """Return the pattern, by a store that has read what the first one kept."""
    compiled.compiled(written, flags)
    compiled.keep()
    compiled._store.cache_clear()
    folder = context.current().cache
    assert folder is not None
    store = compiled._store(folder)
    assert store.compiled(written, int(flags)) == re.compile(written, flags)
    assert not store._is_new  # it was held
    return store.compiled(written, int(flags))


def _patterns() -> Iterator[tuple[Any, int]]:
    for found in pkgutil.walk_packages(tracelens.__path__, "tracelens."):
        if found.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, Late):
                yield value._written, value._flags
            elif isinstance(value, re.Pattern):
                yield value.pattern, value.flags
    for log in discover("logs", Log):
        path = ROOT / "grammars" / f"{log.name}.lark"
        if path.exists():
            tables = grammars.load(log.name, log.__module__).tables
            for written, flags, _ in tables.lexers if tables else ():
                yield from ((one, flags) for one in written)


def test_each_pattern_of_the_package_and_its_grammars_is_made_alike(folder: Path) -> None:
    """Two patterns are equal where their text, their flags and their code are."""
    written = {(type(one), one, int(flags)): (one, int(flags)) for one, flags in _patterns()}
    assert len(written) > 1_500
    for one, flags in written.values():
        compiled.compiled(one, flags)
    compiled.keep()
    compiled._store.cache_clear()
    for one, flags in written.values():
        made = compiled.compiled(one, flags)
        plain = re.compile(one, flags)
        assert made == plain
        assert (made.groups, made.groupindex) == (plain.groups, plain.groupindex)
    assert not compiled._store(folder)._is_new
    assert len(list(folder.glob("patterns-*"))) == 1


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "é",
                r"\d",
                "[a-c]",
                "[^é]",
                "(?P<x{}>b|cd)",
                "(e)",
                ".",
                "$",
                r"\b",
                "x*?",
                "y{2,4}",
            ]
        ),
        max_size=6,
    ),
    st.sampled_from([0, re.MULTILINE, re.IGNORECASE, re.DOTALL | re.ASCII, re.VERBOSE]),
    st.text(alphabet="aébcde xy1\n", max_size=12),
)
def test_a_pattern_finds_what_it_finds(parts: list[str], flags: int, text: str) -> None:
    written = "".join(part.format(n) if "{}" in part else part for n, part in enumerate(parts))
    words = compiled._words_of(written, int(flags))
    made, plain = compiled._made_of(written, words), re.compile(written, flags)
    assert made == plain
    found = [
        (one.span(), one.groups(), one.groupdict(), one.lastgroup) for one in made.finditer(text)
    ]
    assert found == [
        (one.span(), one.groups(), one.groupdict(), one.lastgroup) for one in plain.finditer(text)
    ]


@pytest.mark.usefixtures("folder")
def test_text_and_bytes_are_two_patterns() -> None:
    assert _again("b a\xe9", 0).search("b a\xe9")
    assert _again(b"a\xe9", 0).search(b"a\xe9")
    assert _again("a\xe9", re.IGNORECASE).search("A\xc9")


def test_a_lone_surrogate_is_compiled_and_not_kept(folder: Path) -> None:
    assert compiled.compiled("[\ud800a]").match("a")
    compiled.keep()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "broken", [b"", b"\xc1", b"\x80", b"\x81\xa40ta+\x94\x00\xc4\x00\x80\x91\xc0"]
)
def test_a_broken_file_is_written_anew(folder: Path, broken: bytes) -> None:
    compiled.compiled("a+")
    compiled.keep()
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(broken)
    compiled._store.cache_clear()
    assert compiled.compiled("a+") == re.compile("a+")
    compiled.keep()
    assert path.read_bytes() == whole


def test_what_python_refuses_is_compiled(folder: Path) -> None:
    """Python checks the words: those of another machine are none."""
    compiled.compiled("a+b")
    store = compiled._store(folder)
    key = "0ta+b"
    words = compiled._READ.decode(store._held[key])
    for code in (b"", b"\xff" * len(words.code), words.code[:-4], words.code[:-3]):
        store._held[key] = msgspec.Raw(
            msgspec.msgpack.encode(compiled._Words(words.flags, code, {}, (None,)))
        )
        store._made.clear()
        store._is_new = False
        assert store.compiled("a+b", 0) == re.compile("a+b")
        assert store._is_new


def test_without_a_folder_nothing_is_kept() -> None:
    assert compiled.compiled("a+", re.MULTILINE) is re.compile("a+", re.MULTILINE)
    with pytest.raises(re.error, match="unterminated"):
        compiled.compiled("a(")


@pytest.mark.usefixtures("folder")
def test_what_is_no_pattern_is_said() -> None:
    with pytest.raises(re.error, match="unterminated"):
        compiled.compiled("a(")


def test_another_python_compiles_as_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(compiled, "import_module", missing)
    compiled._is_known.cache_clear()
    try:
        assert compiled.compiled("a+") is re.compile("a+")
        compiled.keep()
    finally:
        monkeypatch.undo()
        compiled._is_known.cache_clear()
    assert not list(folder.iterdir())


def test_a_run_compiles_nothing_of_the_grammars_anew(tmp_path: Path) -> None:
    """The second run of the command reads what the first one kept, and finds the same."""
    log = next((ROOT / "fixtures" / "rules").glob("RCP002*/fires*.log"))
    counted = (
        "import sys\n"
        "from tracelens.cli import main\n"
        "from tracelens import compiled\n"
        "words, kept = compiled._words_of, []\n"
        "compiled._words_of = lambda *a: (kept.append(a[0]), words(*a))[1]\n"
        f"main(['analyze', {str(log)!r}])\n"
        "print(len(kept), file=sys.stderr)\n"
    )
    env = dict(os.environ, TRACELENS_CACHE=str(tmp_path / "cache"))
    runs = [
        subprocess.run(
            [sys.executable, "-c", counted],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        for _ in range(3)
    ]
    assert runs[0].stdout == runs[2].stdout
    first, _, third = (int(run.stderr.splitlines()[-1]) for run in runs)
    assert first > 100
    assert third <= 2  # what is tried out to see whether this Python is known
