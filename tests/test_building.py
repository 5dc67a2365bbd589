"""What is published: equal sources give equal bytes, and nobody's first run builds anything."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.test_packs import ROOT
from tracelens import automaton, context, grammars, lark_tables
from tracelens.context import Context
from tracelens.plugins import building, manifest, registry
from tracelens.plugins.entries import Entry

BUILD = "import sys; from hatchling.build import build_{0}; print(build_{0}(sys.argv[1]))"


def built(folder: Path, what: str) -> tuple[str, str]:
    """Build a wheel or an sdist; return its name and its digest."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(what), str(folder)],
        cwd=ROOT,
        env={"SOURCE_DATE_EPOCH": "1700000000", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    name = done.stdout.strip().splitlines()[-1]
    return name, hashlib.sha256((folder / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_what_is_published_is_the_same_bytes_twice(tmp_path: Path, what: str) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    assert built(tmp_path / "first", what) == built(tmp_path / "second", what)


def test_a_wheel_holds_what_its_users_would_have_to_make(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    name, _ = built(tmp_path / "dist", "wheel")
    with ZipFile(tmp_path / "dist" / name) as wheel:
        wheel.extractall(tmp_path / "installed")
    held = {path.name for path in (tmp_path / "installed" / "tracelens" / "built").iterdir()}
    assert len(held) == 1 + len(list((ROOT / "grammars").glob("*.lark")))
    code = "from tracelens.plugins import manifest; print(manifest.shipped_at().name)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "installed",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert found.stdout.strip() in held, "the index of other modules than the wheel's"


def test_a_wheel_is_built_where_only_a_variable_tells_what_there_is(tmp_path: Path) -> None:
    """As pip does it: the interpreter has nothing, and PYTHONPATH leads to what is required."""
    found = pytest.importorskip("hatchling", reason="hatchling is not installed")
    packages = Path(found.__file__).parent.parent
    venv.create(tmp_path / "bare", with_pip=False)
    done = subprocess.run(
        [tmp_path / "bare" / "bin" / "python", "-c", BUILD.format("wheel"), str(tmp_path)],
        cwd=ROOT,
        env={"PYTHONPATH": str(packages), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with ZipFile(tmp_path / done.stdout.strip().splitlines()[-1]) as wheel:
        assert any(name.startswith("tracelens/built/installed-") for name in wheel.namelist())


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What a wheel is built with, as if this were one."""
    building.build(tmp_path)
    monkeypatch.setattr(automaton, "BUILT", tmp_path)
    made = tmp_path / manifest.shipped_at().name
    monkeypatch.setattr(manifest, "shipped_at", lambda: made)
    monkeypatch.setattr(manifest, "BUILT", tmp_path)
    manifest._current.cache_clear()
    yield tmp_path
    manifest._current.cache_clear()


def test_what_is_shipped_is_what_would_be_made(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with context.using(Context(packs=False)):
        made = manifest._made()
        monkeypatch.setattr(manifest, "_made", None)
        assert manifest.current() == made
    assert len(list(shipped.iterdir())) == 1 + len(made.logs)
    for log in made.logs:
        grammar = grammars.load(log.name, log.module)
        text = grammar.path.read_text(encoding="utf-8")
        tables = lark_tables.tables(grammar._lark)
        assert tables is not None
        held = automaton.kept(automaton.shipped_at(grammar.path, text))
        assert held == lark_tables.ordered(tables)
        assert (len(held.states), len(held.rules)) == (len(tables.states), len(tables.rules))


def test_shipped_tables_are_read_without_lark(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped.is_dir()
    monkeypatch.setattr(lark_tables, "parser", None)
    grammar = grammars.Grammar(grammars.path_of("guards", "tracelens.logs.guards"), {})
    assert grammar.quick is not None


def test_where_a_pack_takes_part_the_index_is_made(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped.is_dir()
    with context.using(Context()):
        pack = Entry("mine", "a_pack.rules", "tracelens.rules", "a-pack")
        monkeypatch.setattr(registry, "_entries", lambda: ([pack], ()))
        assert not registry.only_ours()
    with context.using(Context(packs=False)):
        assert registry.only_ours()
