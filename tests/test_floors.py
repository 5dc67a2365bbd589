"""The floors of ``benchmarks/floors.py`` do what they say, on a log of each kind."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
STAMP = "V1121 10:45:41.174000 99 torch/_inductor/graph.py:2104]"
LOGS = {
    "onednn": "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx2,undef,a,,,2x3:3x4,0.5\n" * 3,
    "compile": f"{STAMP} [0/0] [__output_code] Output code:\n" * 3,
    "structured": f'{STAMP} {{"artifact": {{"name": "x"}}, "frame_id": 0}}\n\tpayload\n' * 3,
}


@pytest.fixture(scope="module")
def floors() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("floors", BENCHMARKS / "floors.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.mark.parametrize("kind", LOGS)
def test_each_kind_of_log_is_known_and_looked_into(
    floors: ModuleType, kind: str, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOGS[kind])
    assert floors.kind_of(log.read_bytes()) == kind
    looked = "\nprint(len(times))" if kind == "onednn" else "\nprint(len(seen))"
    code = floors.LOOKS[kind].format(path=str(log)) + looked
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "1\n"


def test_every_row_runs(floors: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOGS["compile"])
    every = list(floors.rows(log, "compile", log))
    for row in every:
        if "analyze" not in row.name:
            subprocess.run(row.command, check=True, timeout=60)
    assert [row.name for row in every][-1] == "tracelens analyze"
