"""Processor lines: what is read, what is left to the program, and what the report makes of it."""

from pathlib import Path

import pytest

from tracelens.engine import judge
from tracelens.evidence import Evidence
from tracelens.logs.cpu_info import CpuFlags, CpuInfo, CpuModel, IsaLimit
from tracelens.source import read


def evidence(tmp_path: Path, *lines: str) -> Evidence:
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read([str(path)])[0]


@pytest.mark.parametrize(
    "line",
    [
        "Flags:                                fpu vme de avx2 amx_tile",
        "flags\t\t: fpu vme de avx2 amx_tile",
        "Features\t: fp asimd evtstrm sve bf16",
    ],
)
def test_flags_are_words(line: str, tmp_path: Path) -> None:
    (row,) = evidence(tmp_path, line).table(CpuFlags)
    assert row.record.names == frozenset(line.partition(":")[2].split())


def test_every_core_says_the_same(tmp_path: Path) -> None:
    read_in = evidence(tmp_path, *["flags\t\t: fpu vme de avx2"] * 64)
    (row,) = read_in.table(CpuFlags)
    assert row.count == 64
    assert read_in.understood_lines == 64


@pytest.mark.parametrize(
    ("line", "variable", "value"),
    [
        ("ONEDNN_MAX_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA", "AVX2"),
        ("export DNNL_MAX_CPU_ISA='avx512_core'", "DNNL_MAX_CPU_ISA", "AVX512_CORE"),
        ("ONEDNN_MAX_CPU_ISA=SSE41 python infer.py", "ONEDNN_MAX_CPU_ISA", "SSE41"),
    ],
)
def test_the_limit(line: str, variable: str, value: str) -> None:
    assert CpuInfo.parse(line) == (IsaLimit(variable=variable, value=value),)


@pytest.mark.parametrize(
    "line",
    [
        "Flags: --fast --no-cache",
        "Model name: resnet50",
        "model name: bert-base",
        "Features: 128",
        "echo $ONEDNN_MAX_CPU_ISA",
        "ONEDNN_MAX_CPU_ISA=",
    ],
)
def test_lines_of_the_program_stay_its_own(line: str, tmp_path: Path) -> None:
    read_in = evidence(tmp_path, line)
    assert read_in.kinds == {}
    assert not read_in.unread


def test_the_processor_is_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text("Model name:                           AMD EPYC 9654\n", encoding="utf-8")
    read_in, inputs = read([str(path)])
    assert judge(read_in, inputs, rules=[]).environment.cpu == "AMD EPYC 9654"
    assert [row.record for row in read_in.table(CpuModel)] == [CpuModel(model="AMD EPYC 9654")]
