"""Every form of prefix that was met in logs, and what each of them says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.evidence import Evidence
from tracelens.logs.recompiles import Recompile
from tracelens.source import read
from tracelens.source.prefixes import TORCH, clock, peel

BODY = (
    "Recompiling function fn in /home/ana/proj/a.py:8",
    "    triggered by the following guard failure(s):",
    "    - 0/0: n == 2",
)
SITE = "torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
GLOG = f"V1120 10:45:41.470000 30895 {SITE}"


def analyzed(tmp_path: Path, lines: list[str]) -> Evidence:
    path = tmp_path / "run.log"
    path.write_text("\n".join(["loss 0.5", *lines, "loss 0.4", ""]), encoding="utf-8")
    return read([str(path)])[0]


@pytest.mark.parametrize(
    ("prefix", "frame"),
    [
        (GLOG, "0/1"),
        (GLOG.replace("30895", "139872341235520"), "0/1"),  # a thread id, torch 2.2 to 2.4
        (GLOG.replace(" [0/1]", ""), ""),
        (GLOG.replace("[0/1]", "[0/0_1]"), "0/0"),
        (GLOG.replace("[0/1]", "[!0]"), "!0"),
        (GLOG.replace("[0/1]", "[!0/1/0]"), "!0/1/0"),
        (GLOG.replace("[0/1]", "[-/-]"), "-/-"),
        (GLOG.replace("torch/_dynamo", "Lib\\site-packages\\torch\\_dynamo"), "0/1"),
        (GLOG.replace("torch/_dynamo", "/opt/venv/lib/torch/_dynamo"), "0/1"),
        (f"[rank3]:{GLOG}", "0/1"),
        (f"[rank3]: {GLOG}", "0/1"),
        (f"[rank3]{GLOG}", "0/1"),
        (f"[rank3] {GLOG}", "0/1"),
        (f"[default0]:[rank3]:{GLOG}", "0/1"),
        (f"(Worker_TP0 pid=31) {GLOG}", "0/1"),
        (f"(EngineCore_0 pid=31) [rank3]:{GLOG}", "0/1"),
        (f"[2026-11-20 10:45:41.088] {GLOG}", "0/1"),
        (f"2026-11-20T10:45:41.0884567Z {GLOG}", "0/1"),
        (f"[pod/trainer-0/main] 2026-11-20T10:45:41.088456789Z {GLOG}", "0/1"),
        (f"Nov 20 10:45:41 node python[4711]: {GLOG}", "0/1"),
        (f"E2026-11-20T10:45:41+08:00.470000 30895 {SITE}", "0/1"),
        (f"V2026-11-20 10:45:41.470000 30895 {SITE}", "0/1"),
        (f"[rank3]:E2026-11-20T10:45:41Z.470000 30895 {SITE}", "0/1"),
        ("[2026-11-20 10:45:41,470] [0/1] torch._dynamo.guards.__recompiles: [DEBUG] ", "0/1"),
        ("[2026-11-20 10:45:41,470] torch._dynamo.guards.__recompiles: [DEBUG] ", ""),
        (f"123:{GLOG}", "0/1"),
        (f"   123\t{GLOG}", "0/1"),
        (f" 123 | {GLOG}", "0/1"),
        (f"> {GLOG}", "0/1"),
        (SITE, "0/1"),
        ("[0/1] [__recompiles] ", "0/1"),
        ("[__recompiles] ", ""),
    ],
)
def test_a_prefix_tells_the_record(prefix: str, frame: str, tmp_path: Path) -> None:
    evidence = analyzed(tmp_path, [prefix + line for line in BODY])
    (row,) = evidence.table(Recompile)
    assert (row.record.function, row.record.line, len(row.record.failures)) == ("fn", 8, 1)
    assert row.first.frame == frame
    assert row.first.writer == ("rank3" if "rank3" in prefix else row.first.writer)
    assert evidence.understood_lines == 3
    assert not evidence.unread


def test_a_progress_bar_before_the_record(tmp_path: Path) -> None:
    bar = "\rTraining:  20%|xx  | 1/5 [00:01<00:05, 1.00it/s, loss=0.1]"
    iso = f"E2026-11-20T10:45:41+08:00.470000 30895 {SITE}"
    for prefix in (GLOG, iso):
        evidence = analyzed(tmp_path, [bar + prefix + BODY[0], *(prefix + x for x in BODY[1:])])
        assert evidence.kinds == {"recompiles": 1}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"1120 10:45:41.470000", 41.47),
        (b"2026-11-20 10:45:41,470", 41.47),
        (b"2026-11-20 10:45:41.470000", 41.47),
        (b"2026-11-20T10:45:41Z.470000", 41.47),
        (b"2026-11-20T10:45:41+08:00.470000", 41.47),
    ],
)
def test_clocks(text: bytes, seconds: float) -> None:
    midnight = clock(b"1120 00:00:00.000000")
    assert midnight is not None
    assert clock(text) == pytest.approx(midnight + (10 * 60 + 45) * 60 + seconds)


@pytest.mark.parametrize("text", [b"9999 99:99:99.999999", b"", b"2026-13-20 10:45:41,470"])
def test_impossible_clocks(text: bytes) -> None:
    assert clock(text) is None


@pytest.mark.parametrize(
    "stamp",
    [
        "E2025-08-13T11:34:14+08:00.677000 4021 ",
        "V2025-08-13T11:34:14.677+08:00 4021 ",
        "V2025-08-13T11:34:14.677+08:00 ",
        "V2025-08-13T03:34:14.677123Z 4021 ",
        "V2025-08-13 11:34:14,677 4021 ",
    ],
)
def test_a_date_in_iso_form_begins_a_prefix(stamp: str) -> None:
    line = f"{stamp}torch/_dynamo/guards.py:3006] [0/1] [__recompiles] Recompiling f"
    match = TORCH.match(line.encode())
    assert match is not None
    assert match["site"] == b"torch/_dynamo/guards.py:3006] [0/1] [__recompiles]"


def test_a_stamp_without_process_is_torchs_only_before_torchs_file() -> None:
    assert TORCH.match(b"I1120 10:00:00.123456 server.cc:12] ready") is None


@pytest.mark.parametrize("stamp", ["2025-10-16T06:08:44Z", "2025-10-16T06:08:44.123456+02:00"])
@pytest.mark.parametrize("form", ["[{}] ", "{} ", "{} stdout F "])
def test_a_stamp_may_stand_in_brackets(stamp: str, form: str) -> None:
    record = b"W1112 05:36:47.251000 61 torch/_dynamo/convert_frame.py:1016] [2/8] it hit"
    assert peel(form.format(stamp).encode() + b"(EngineCore pid=23579) " + record)[0] == record


@pytest.mark.parametrize(
    "text", ["[2025-10-16T06:08:44Z", "[2025-10-16T06:08:44Z]: x", "[step 7] x"]
)
def test_other_brackets_stay(text: str) -> None:
    assert peel(text.encode())[0] == text.encode()
