"""The version that packs are written against: data, checked before any of their code runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_broken_packs import HEALTHY, METADATA, both
from tests.test_packs import RULE, write
from tests.warm import tracelens
from tracelens.plugins import api

CODES = {"HOT001", "MLD001"}


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (">=1,<2", True),
        (">=1", True),
        ("<1", False),
        (">=2,<3", False),
        ("==1", True),
        ("==1.0", True),
        ("!=1.0", False),
        (">1", False),
        (">=1.0, <1.1", True),
        (">=1.1", False),
        ("<=1", True),
    ],
)
def test_a_version_fits_or_not(wanted: str, fits: bool) -> None:
    assert api.holds(wanted) is fits


@pytest.mark.parametrize("wanted", ["", "1", ">=one", ">=1,", "~=1", ">=1;<2", "=>1", ">=1.0.0.0"])
def test_what_is_no_version_is_not_guessed_at(wanted: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        api.holds(wanted)


def packs(pack: Path, code: int) -> dict[str, Any]:
    done = tracelens(pack, "packs", "-f", "json")
    assert done.returncode == code, done.stderr
    return {one["distribution"]: one for one in json.loads(done.stdout)}


def test_a_pack_without_a_version_takes_part_and_a_note_says_so(tmp_path: Path) -> None:
    write(tmp_path / "site", HEALTHY)
    found = packs(tmp_path, code=0)
    assert [(p["state"], p["api"], len(p["notes"])) for p in found.values()] == [
        ("works", "", 1)
    ] * 2
    assert 'tracelens-api = ">=1,<2"' in tracelens(tmp_path, "packs").stdout


def test_a_pack_that_fits_says_for_what(tmp_path: Path) -> None:
    write(tmp_path / "site", both(HEALTHY, {"heat/tracelens.toml": 'tracelens-api = ">=1,<2"\n'}))
    found = packs(tmp_path, code=0)
    heat = found["heat-pack"]
    assert (heat["api"], heat["notes"], heat["state"]) == (">=1,<2", [], "works")
    assert (heat["rules"], heat["logs"], heat["formats"]) == (
        ["HOT001"],
        ["thermometer"],
        ["brief"],
    )
    assert "  api       >=1,<2\n" in tracelens(tmp_path, "packs").stdout


def test_of_a_pack_for_another_version_no_code_runs(tmp_path: Path) -> None:
    changes = {
        "heat/tracelens.toml": 'tracelens-api = ">=2"\n',
        "heat/__init__.py": "open('ran', 'w').close()\n",
    }
    write(tmp_path / "site", both(HEALTHY, changes))
    found = packs(tmp_path, code=3)
    assert (found["heat-pack"]["state"], found["heat-pack"]["rules"]) == ("refused", [])
    assert found["mild-pack"]["state"] == "works"
    assert not (tmp_path / "ran").exists()
    assert tracelens(tmp_path, "--no-plugins", "packs").returncode == 0


def test_who_has_a_code_is_named_with_who_wants_it(tmp_path: Path) -> None:
    cold = {
        "cold/__init__.py": RULE.replace("heat.", "cold.")
        .replace("from cold.logs.thermometer", "from heat.logs.thermometer")
        .replace("too-hot", "too-cold")
        .replace("TooHot", "TooCold"),
        "cold_pack-0.1.dist-info/METADATA": METADATA.replace("heat", "cold"),
        "cold_pack-0.1.dist-info/entry_points.txt": "[tracelens.rules]\ncold = cold\n",
    }
    write(tmp_path / "site", both(HEALTHY, cold))
    found = packs(tmp_path, code=3)
    (loser,) = [one for one in found.values() if one["broken"]]
    assert {"cold-pack", "heat-pack"} >= {loser["distribution"]}
    winner = ({"cold-pack", "heat-pack"} - {loser["distribution"]}).pop()
    assert f"the code HOT001 is {winner}'s" in loser["broken"][0]
    listed = tracelens(tmp_path, "rules").stdout.splitlines()
    assert [line.split()[-1] for line in listed if line.split()[0] == "HOT001"] == [winner]


LOG = '''
"""Lines of a backend, behind torch's prefix."""

from tracelens.logs import Log, Record


class Tiles(Log):
    """What the backend says."""

    name = "tiles"
    switch = "TILES=1"
    marks = ("tile layout ",)
    prefixed = True


class Layout(Record):
    """One layout."""

    rows: int
'''
GRAMMAR = """start: layout
layout: "tile layout " ROWS
ROWS: /[0-9]+/
"""
FRAME_RULE = '''
"""Layouts of frames."""

from collections.abc import Iterator

from tiles.logs.tiles import Layout
from tracelens import Finding, Rule, Table
from tracelens.frames import Frame


class Laid(Rule):
    """It was laid."""

    code = "TLS001"
    name = "laid"

    def check(self, frames: Table[Frame]) -> Iterator[Finding]:
        for frame in frames:
            for seen in frame.record.of(Layout):
                yield self.finding(
                    frame.record.id,
                    title=f"{frame.record.id} has {seen.record.rows} rows",
                    message="m",
                    evidence=[seen.quote()],
                )
'''
PREFIX = "V1120 16:11:49.911000 16372"


def test_a_frame_gathers_the_records_of_packs(tmp_path: Path) -> None:
    write(
        tmp_path / "site",
        {
            "tiles/__init__.py": "",
            "tiles/logs/__init__.py": "",
            "tiles/logs/tiles.py": LOG,
            "tiles/logs/tiles.lark": GRAMMAR,
            "tiles/rule.py": FRAME_RULE,
            "tiles-0.1.dist-info/METADATA": METADATA.replace("heat-pack", "tiles"),
            "tiles-0.1.dist-info/entry_points.txt": (
                "[tracelens.rules]\na = tiles.rule\n[tracelens.logs]\na = tiles.logs\n"
            ),
        },
    )
    log = tmp_path / "run.log"
    log.write_text(
        f"{PREFIX} torch/_dynamo/guards.py:1] [0/1] [__recompiles] "
        "Recompiling function f in /home/ana/proj/model.py:8\n"
        f"{PREFIX} torch/_dynamo/guards.py:1] [0/1] [__recompiles]     "
        "triggered by the following guard failure(s):\n"
        f"{PREFIX} torch/_dynamo/guards.py:1] [0/1] [__recompiles]     - 0/0: n == 2\n"
        f"{PREFIX} tiles/backend.py:7] [0/1] tile layout 32\n"
        f"{PREFIX} tiles/backend.py:7] [7/0] tile layout 64\n"
    )
    done = tracelens(tmp_path, "analyze", str(log), "-f", "json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    titles = [one["title"] for one in report["findings"] if one["code"] == "TLS001"]
    assert titles == ["0/1 has 32 rows"]
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
    plain = tracelens(tmp_path, "--no-plugins", "analyze", str(log), "-f", "json")
    alone = json.loads(plain.stdout)["findings"]
    assert alone
    assert [one for one in report["findings"] if one["code"] != "TLS001"] == alone
