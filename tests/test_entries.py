"""Our entry points are found without importlib.metadata where no pack is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tracelens.plugins.entries import GROUPS, Entry, everybodys, of_ours_alone, readable

OURS = "[tracelens.rules]\nbuiltin = tracelens.rules\n\n[tracelens.logs]\nbuiltin=tracelens.logs\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder that Python imports from, with tracelens installed in it."""
    held = tmp_path / "site-packages"
    put(held, "torch_tracelens-0.1.0.dist-info", f"[console_scripts]\na = b:c\n\n{OURS}")
    put(held, "ruff-1.0.dist-info", "[console_scripts]\nruff = ruff:main\n")
    (held / "none-1.0.dist-info").mkdir()
    (held / "a.egg-info").write_text("Metadata-Version: 2.1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "absent"), str(held)])
    return held


def put(site: Path, name: str, text: str) -> None:
    (site / name).mkdir(parents=True)
    (site / name / "entry_points.txt").write_text(text)
    package, _, version = name.rpartition(".")[0].partition("-")
    about = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version or '1.0'}\n"
    (site / name / "METADATA").write_text(about)


def test_here_it_is_as_the_standard_library_says() -> None:
    every = everybodys()
    assert {one.group for one in every} == {f"tracelens.{group}" for group in GROUPS}
    if all(one.owner == "torch-tracelens" for one in every):
        assert sorted(of_ours_alone() or ()) == sorted(every)
    assert sorted(readable()[0]) == sorted(every)
    assert readable()[1] == []


def test_ours_alone_are_read(site: Path) -> None:
    assert site.is_dir()
    assert of_ours_alone() == [
        Entry("builtin", "tracelens.rules", "tracelens.rules", "torch-tracelens"),
        Entry("builtin", "tracelens.logs", "tracelens.logs", "torch-tracelens"),
    ]
    assert {one[:3] for one in of_ours_alone() or ()} == {one[:3] for one in everybodys()}


@pytest.mark.parametrize(
    "text",
    [
        "[tracelens.rules]\nmine = a_pack.rules\n",
        "[tracelens.policies]\nstrict = a_pack.strict\n",
        "[tracelens.rules\nmine",
        "\xff tracelens.",
    ],
)
@pytest.mark.parametrize("name", ["a_pack-1.0.dist-info", "a_pack.egg-info"])
def test_where_another_package_has_some_they_are_looked_at_closely(
    site: Path, name: str, text: str
) -> None:
    put(site, name, "")
    assert of_ours_alone() is not None
    (site / name / "entry_points.txt").write_bytes(text.encode("latin-1"))
    assert of_ours_alone() is None


def test_what_is_no_folder_of_packages_is_left_to_the_standard_library(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = site.parent / "packs.zip"
    archive.write_bytes(b"PK")
    monkeypatch.setattr(sys, "path", [str(site), str(archive)])
    assert of_ours_alone() is None
    monkeypatch.setattr(sys, "path", [str(site)])
    assert of_ours_alone() is not None
    (site / "old-1.0-py3.11.egg").mkdir()
    assert of_ours_alone() is None


def test_a_finder_that_has_packages_of_its_own_is_asked(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Finder:
        def find_spec(self, *_: object) -> None:
            return None

    assert site.is_dir()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert of_ours_alone() is not None
    monkeypatch.setattr(Finder, "find_distributions", lambda *_: iter(()), raising=False)
    assert of_ours_alone() is None


def test_where_we_are_not_installed_nothing_is_said(site: Path) -> None:
    for name in ("entry_points.txt", "METADATA"):
        (site / "torch_tracelens-0.1.0.dist-info" / name).unlink()
    assert of_ours_alone() is None
    assert everybodys() == []
