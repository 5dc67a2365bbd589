"""A baseline: what is known stays known, and nothing else does."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracelens.cli import main

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
BREAKS = FIXTURES / "logs" / "graph_breaks" / "many-breaks.log.gz"
UNET = FIXTURES / "rules" / "IND004-cpu-inference-not-frozen" / "fires-unet.log.gz"
AARCH64 = UNET.with_name("fires-aarch64-bfloat16.log.gz")
SAMPLE = FIXTURES / "logs" / "samples" / "aarch64-bf16-linear.log"

Gate = Callable[..., tuple[int, str]]


def text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


@pytest.fixture
def gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Gate:
    """Accept a log, optionally change the baseline, and judge another one."""
    monkeypatch.chdir(tmp_path)

    def judge(
        before: str, after: str, change: Callable[[dict[str, Any]], None] | None = None
    ) -> tuple[int, str]:
        Path("before.log").write_text(before)
        Path("after.log").write_text(after)
        assert main(["baseline", "update", "base.json", "before.log"]) == 0
        if change is not None:
            held = json.loads(Path("base.json").read_text())
            change(held)
            Path("base.json").write_text(json.dumps(held))
        capsys.readouterr()
        words = ("analyze", "after.log", "--baseline", "base.json", "--fail-on", "info", "-q")
        return main([*words]), capsys.readouterr().err

    return judge


def moved(log: str) -> str:
    return log.replace("/home/ana/proj", "/home/runner/builds-7/checkout")


def shifted(log: str) -> str:
    log = re.sub(r"(breaks\.py:)(\d+)", lambda m: f"{m[1]}{int(m[2]) + 7}", log)
    return re.sub(r'(breaks\.py", line )(\d+)', lambda m: f"{m[1]}{int(m[2]) + 7}", log)


def test_the_same_log_has_nothing_new(gate: Gate) -> None:
    assert gate(text(BREAKS), text(BREAKS)) == (0, "")


def test_moving_the_checkout_changes_nothing(gate: Gate) -> None:
    assert moved(text(BREAKS)) != text(BREAKS)
    assert gate(text(BREAKS), moved(text(BREAKS))) == (0, "")


def test_shifting_lines_changes_nothing(gate: Gate) -> None:
    assert shifted(text(BREAKS)) != text(BREAKS)
    assert gate(text(BREAKS), shifted(text(BREAKS))) == (0, "")
    assert gate(text(BREAKS), moved(shifted(text(BREAKS)))) == (0, "")


def test_renaming_unrelated_things_changes_nothing(gate: Gate) -> None:
    log = text(UNET)
    renamed = re.sub(r"\bbuf(\d+)\b", r"tmp\1", log)
    assert renamed != log
    assert gate(log, renamed)[0] == 0
    breaks = text(BREAKS)
    without = breaks.replace("g_time", "g_clock")  # one function of many has another name
    code, said = gate(breaks, without)
    assert code == 1  # its own finding is of a function that nobody knows
    assert "another program" not in said


def test_three_times_as_much_is_new(gate: Gate) -> None:
    log = text(SAMPLE)
    lines = log.splitlines(keepends=True)
    execs = [line for line in lines if ",exec," in line]
    code, said = gate(log, "".join([*lines, *execs, *execs]))
    assert code == 1
    assert "worse than in base.json: ONE001-" in said
    assert re.search(r"count \d+ -> \d+", said)


def test_a_little_more_is_within_the_tolerance(gate: Gate, tmp_path: Path) -> None:
    lines = text(SAMPLE).splitlines(keepends=True)
    execs = [line for line in lines if ",exec," in line]
    more = "".join([*lines, *execs])
    (tmp_path / "pyproject.toml").write_text("[tool.tracelens]\nbaseline-tolerance = 1.0\n")
    assert gate("".join(lines), more)[0] == 0
    (tmp_path / "pyproject.toml").write_text("[tool.tracelens]\nbaseline-tolerance = 0.9\n")
    assert gate("".join(lines), more)[0] == 1


@pytest.mark.parametrize(("held", "code"), [(68, 0), (62, 0), (61, 1), (24, 1)])
def test_more_pieces_are_new(gate: Gate, held: int, code: int) -> None:
    """The log has 68 breaks; up to a tenth more than was accepted is known."""

    def fewer(baseline: dict[str, Any]) -> None:
        (entry,) = [one for one in baseline["entries"] if one["code"] == "GBR012"]
        assert entry["count"] == 68
        entry["count"] = held
        entry["data"] = {
            name: held if value == 68 else value for name, value in entry["data"].items()
        }

    done, said = gate(text(BREAKS), text(BREAKS), fewer)
    assert done == code
    assert said == ("" if not code else said)
    assert not code or f"{held} -> 68" in said


def test_amounts_in_the_data_count_as_well(gate: Gate) -> None:
    def fewer(baseline: dict[str, Any]) -> None:
        (entry,) = [one for one in baseline["entries"] if one["code"] == "IND004"]
        assert entry["data"]["convolutions"] > 8
        entry["data"]["convolutions"] = 8

    code, said = gate(text(UNET), text(UNET), fewer)
    assert code == 1
    assert "convolutions 8 -> " in said


def test_another_programs_finding_is_new(gate: Gate) -> None:
    """IND004 is one for a whole program, and has the same id in all of them."""
    code, said = gate(text(UNET), text(AARCH64))
    assert code == 1
    assert "of another program than run1" in said


def test_a_rule_that_is_new_is_told_and_named(gate: Gate) -> None:
    def without(baseline: dict[str, Any]) -> None:
        baseline["rules"].remove("GBR003")
        baseline["entries"] = [one for one in baseline["entries"] if one["code"] != "GBR003"]

    code, said = gate(text(BREAKS), text(BREAKS), without)
    assert code == 1
    assert (
        said == "tracelens: base.json was made without the rule GBR003, so its findings are new.\n"
    )


def test_what_is_fixed_is_told(gate: Gate) -> None:
    def one_more(baseline: dict[str, Any]) -> None:
        gone: dict[str, Any] = {"id": "GBR003-ffffff", "title": "gone", "where": None, "data": {}}
        (other, *_) = [one for one in baseline["entries"] if one["code"] == "GBR003"]
        baseline["entries"].append(other | gone)

    assert gate(text(BREAKS), text(BREAKS), one_more) == (
        0,
        "tracelens: fixed since base.json: GBR003-ffffff gone.\n",
    )


def test_a_higher_severity_is_new(gate: Gate) -> None:
    def lower(baseline: dict[str, Any]) -> None:
        for entry in baseline["entries"]:
            entry["severity"] = {"error": "warning"}.get(entry["severity"], entry["severity"])

    code, said = gate(text(SAMPLE), text(SAMPLE), lower)
    assert code == 1
    assert "(warning -> error)" in said


def test_the_order_says_nothing(gate: Gate) -> None:
    def shuffled(baseline: dict[str, Any]) -> None:
        random.Random(3).shuffle(baseline["entries"])

    assert gate(text(BREAKS), text(BREAKS), shuffled) == (0, "")
    execs = [line for line in text(SAMPLE).splitlines(keepends=True) if ",exec," in line]
    others = [line for line in text(SAMPLE).splitlines(keepends=True) if ",exec," not in line]
    assert gate(text(SAMPLE), "".join([*others, *reversed(execs)]))[0] == 0


def test_a_second_finding_of_a_kind_is_new(gate: Gate) -> None:
    def one_less(baseline: dict[str, Any]) -> None:
        entries = [one for one in baseline["entries"] if one["code"] == "GBR001"]
        baseline["entries"].remove(entries[0])

    assert gate(text(BREAKS), moved(text(BREAKS)), one_less)[0] == 1


def test_a_saved_report_is_a_baseline_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["analyze", str(BREAKS), "-q", "-o", "base.json"])
    words = ["analyze", str(BREAKS), "--baseline", "base.json", "--fail-on", "info", "-q"]
    assert main(words) == 0
    held = json.loads(Path("base.json").read_text())
    Path("base.json").write_text(json.dumps({"baseline_version": 3, "entries": []}))
    assert main(words) == 2
    assert "reads version 2" in capsys.readouterr().err
    assert held["schema_version"] == 1


def test_update_show_and_prune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["baseline", "update", "base.json", str(BREAKS)]) == 0
    first = Path("base.json").read_text()
    assert "/home/ana" not in first
    assert main(["baseline", "update", "base.json", str(BREAKS)]) == 0
    assert Path("base.json").read_text() == first
    held = json.loads(first)
    gone = held["entries"][0] | {"id": "GBR002-ffffff", "where": None, "data": {}, "title": "gone"}
    many = [e | {"count": 900} if e["code"] == "GBR012" else e for e in held["entries"]]
    Path("base.json").write_text(json.dumps(held | {"entries": [gone, *many]}))
    capsys.readouterr()
    assert main(["baseline", "show", "base.json"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "error   GBR002-ffffff  2 x  gone"
    assert main(["baseline", "prune", "base.json", str(BREAKS)]) == 0
    assert json.loads(Path("base.json").read_text()) == held


@pytest.mark.parametrize(
    "words",
    [["update", "base.json"], ["prune", "base.json"], ["show", "b.json", "x"], ["forget", "b"]],
)
def test_misuse_of_a_baseline(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
