"""Lines that set environment variables, and lines that only look like them."""

from pathlib import Path

import pytest

from tracelens.dynamo.settings import Setting
from tracelens.engine import judge
from tracelens.logs import Record
from tracelens.logs.cpu_info import IsaLimit
from tracelens.logs.variables import EnvironmentVariable, Variables
from tracelens.source import read


def variables(line: str) -> dict[str, str]:
    found: tuple[Record, ...] = Variables.parse(line)
    return {one.name: one.value for one in found if isinstance(one, EnvironmentVariable)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("TORCHINDUCTOR_FREEZING=1", {"TORCHINDUCTOR_FREEZING": "1"}),
        ('declare -x OMP_NUM_THREADS="16"', {"OMP_NUM_THREADS": "16"}),
        (
            'export KMP_AFFINITY="granularity=fine,compact,1,0" KMP_BLOCKTIME=1',
            {"KMP_AFFINITY": "granularity=fine,compact,1,0", "KMP_BLOCKTIME": "1"},
        ),
        (
            "$ A=x TORCH_LOGS=+inductor python infer.py --size=3 # OMP_NUM_THREADS=9",
            {"A": "x", "TORCH_LOGS": "+inductor"},
        ),
        ("LD_PRELOAD=/a/libgomp.so:/b/c.so", {"LD_PRELOAD": "/a/libgomp.so:/b/c.so"}),
        ("TORCH_TRACE='/home/ana/my traces'", {"TORCH_TRACE": "/home/ana/my traces"}),
    ],
)
def test_what_is_read(line: str, expected: dict[str, str]) -> None:
    assert Variables.begins.match(line)
    assert variables(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "OMP_NUM_THREADS=2: eager 3.4 ms",
        "OMP_NUM_THREADS=",
        "PATH=/usr/bin",
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace",
        "torch = 2",
        "    TORCH_LOGS=1",
    ],
)
def test_what_is_left_to_the_program(line: str) -> None:
    assert Variables.begins is not None
    assert not Variables.begins.match(line)


def test_what_limits_onednn_is_a_record_of_its_own() -> None:
    found = Variables.parse("ONEDNN_VERBOSE=1 ONEDNN_MAX_CPU_ISA=avx2 python run.py")
    assert IsaLimit(variable="ONEDNN_MAX_CPU_ISA", value="AVX2") in found


def test_a_setting_is_told_by_input_and_writer(tmp_path: Path) -> None:
    for name in ("a", "b"):
        text = "\n".join(f"[rank{n}]:TORCHINDUCTOR_NAN_ASSERTS={n}" for n in (0, 1, 1))
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    evidence, inputs = read([str(tmp_path / "a"), str(tmp_path / "b")])
    rows = evidence.table(Setting)
    found = [(row.first.writer, row.first.line, row.record.is_on) for row in rows]
    assert found == [("rank0", 1, False), ("rank1", 2, True)] * 2
    (finding,) = judge(evidence, inputs).findings
    assert (finding.code, finding.count) == ("ENV005", 2)
    assert [line.input for line in finding.evidence] == [str(tmp_path / "a"), str(tmp_path / "b")]
