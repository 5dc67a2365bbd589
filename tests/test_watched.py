"""That something was looked for is a fact of its own: clean, absent and unread are three things."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracelens import SourceError, UsageError, analyze
from tracelens.cli import main
from tracelens.judging.watching import artifacts

NEEDED = ("graph_breaks", "recompiles", "onednn_verbose")
FAMILY = {"graph_breaks": "GBR", "recompiles": "RCP", "onednn_verbose": "ONE"}
GUARDS = "V1120 10:00:00.000000 7 torch/_dynamo/guards.py:3117] [0/0] [__guards] GUARDS:\n"
PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
step = torch.compile(model)
for _ in range(3):
    step(torch.ones(4, 8))
print("done")
"""


def log(folder: Path, *lines: str) -> str:
    path = folder / "run.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def watched(path: str) -> set[str]:
    return set(analyze(path, select=["LOG001"]).runs[0].watched)


def verdict(path: str, code: str, **options: Any) -> tuple[str, str]:
    (found,) = analyze(path, select=[code], **options).verdicts
    return found.verdict.value, found.reason


def test_plain_output_is_nothing_until_somebody_says_what_was_on(tmp_path: Path) -> None:
    path = log(tmp_path, "epoch 1: loss 0.3")
    with pytest.raises(SourceError, match="nothing from torch"):
        analyze(path)
    report = analyze(path, recorded_with=["graph_breaks"])
    assert report.runs[0].watched == ("graph_breaks",)
    assert not report.findings


def test_what_was_on_is_a_name_that_torch_knows(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is called 'graph_break'"):
        analyze(log(tmp_path, "x"), recorded_with=["graph_break"])


@pytest.mark.parametrize(
    "echo",
    [
        "+ TORCH_LOGS=graph_breaks,recompiles python train.py",
        "$ TORCH_LOGS='graph_breaks,recompiles' python train.py",
        "export TORCH_LOGS=graph_breaks,recompiles",
        "TORCH_LOGS=+dynamo",
        "TORCH_LOGS=recompiles_verbose,graph_breaks",
    ],
)
def test_an_echoed_variable_proves_what_was_on(echo: str, tmp_path: Path) -> None:
    path = log(tmp_path, echo, "epoch 1")
    assert {"graph_breaks", "recompiles"} <= watched(path)
    assert verdict(path, "GBR003")[0] == "quiet"


def test_a_component_at_info_level_proves_nothing(tmp_path: Path) -> None:
    assert "graph_breaks" not in watched(log(tmp_path, "TORCH_LOGS=dynamo", "epoch 1"))


def test_records_prove_their_own_artifact_and_no_other(tmp_path: Path) -> None:
    path = log(tmp_path, GUARDS, "epoch 1")
    assert watched(path) == {"guards"}
    assert verdict(path, "GBR003")[0] == "absent"


def test_the_header_of_onednn_proves_that_executions_were_watched(tmp_path: Path) -> None:
    header = (
        "onednn_verbose,v1,info,oneDNN v3.7.1 (commit 8d263e693366ef8db40acc569cc7d8edf644556d)"
    )
    path = log(tmp_path, header)
    assert watched(path) == {"onednn_verbose"}
    assert verdict(path, "ONE001")[0] == "quiet"


def test_refusals_alone_do_not_prove_it(tmp_path: Path) -> None:
    header = (
        "onednn_verbose,v1,info,oneDNN v3.7.1 (commit 8d263e693366ef8db40acc569cc7d8edf644556d)"
    )
    refusal = (
        "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg:sve_512,undef,"
        "src:bf16::blocked:ab::f0 wei:bf16:a:any:any::f0 dst:bf16::blocked:ab::f0,"
        "attr-scratchpad:user,,64x64:64x64,unsupported isa,src/cpu/aarch64/matmul/b.cpp:99"
    )
    assert watched(log(tmp_path, header, refusal)) == {"onednn_dispatch"}


def test_refused_records_are_no_proof_of_quiet(tmp_path: Path) -> None:
    head = "V1120 10:00:00.000000 7 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    path = log(tmp_path, f"{head}Recompiling whatever: a form that nobody has seen")
    outcome, reason = verdict(path, "RCP001", recorded_with=["recompiles"])
    assert outcome == "absent"
    assert reason.startswith("unread: a grammar refused a text of recompiles")


@pytest.mark.parametrize(("understood", "told"), [(98, False), (96, True)])
def test_lines_that_are_not_read_are_told_from_two_percent_on(
    understood: int, told: bool, tmp_path: Path
) -> None:
    one = (
        "onednn_verbose,v1,primitive,exec,cpu,matmul,jit,undef,src:f32::blocked:ab::f0,,,2x2:2x2,1"
    )
    # One line alone was most likely cut.
    new = "onednn_verbose,v1,primitive,exec,of a new form"
    path = log(tmp_path, *[one] * understood, *[new] * 2)
    report = analyze(path, select=["LOG001"])
    assert report.coverage.unread_lines == 2
    assert report.coverage.understood_lines == understood
    assert any("was not read" in found.title for found in report.findings) is told


EXECUTION = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,jit,undef,src:f32::blocked:ab::f0,,,2x2:2x2,1"
)
TORN = "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avxonednn_verbose,v1"
NEW = "onednn_verbose,v1,primitive,exec,cpu,matmul,in a new form,0.5"


@pytest.mark.parametrize(
    ("lines", "outcome", "reason"),
    [
        ([EXECUTION] * 1000, "quiet", ""),
        ([EXECUTION] * 999 + [TORN], "quiet", "1 torn line is not read, of 1,000 of onednn_verb"),
        ([EXECUTION] * 998 + [TORN], "absent", "unread: a grammar refused a text of onednn_verb"),
        ([EXECUTION] * 49 + [TORN], "absent", "unread: a grammar refused a text of onednn_verb"),
        ([EXECUTION] * 1997 + [TORN, "onednn_verbose,v1,primitive,exec,epoch 3"], "absent", "unr"),
        ([EXECUTION] * 1998 + [TORN, "onednn_verbose,v1,primitive,exec,epoch 3"], "quiet", "2 to"),
        ([EXECUTION] * 9000 + [NEW, NEW], "absent", "unread: a grammar refused 2 texts of onednn"),
        ([EXECUTION] * 9000 + [NEW, f"{NEW}1"], "absent", "unread: a grammar refused 2 texts of "),
        (
            [EXECUTION] * 90000 + [f"{TORN} {n}" for n in range(60)],
            "quiet",
            "60 torn lines are not",
        ),
        (
            [EXECUTION] * 9000 + [f"{TORN} {n}" for n in range(60)],
            "absent",
            "unread: a grammar ref",
        ),
    ],
)
def test_a_rule_is_quiet_despite_torn_lines_and_not_despite_a_form_that_is_not_read(
    lines: list[str], outcome: str, reason: str, tmp_path: Path
) -> None:
    said = verdict(log(tmp_path, *lines), "ONE001")
    assert said[0] == outcome
    assert said[1].startswith(reason)
    assert bool(said[1]) is bool(reason)


def test_a_cut_log_proves_nothing_by_what_it_lacks(tmp_path: Path) -> None:
    path = log(tmp_path, "TORCH_LOGS=graph_breaks,recompiles", GUARDS.rstrip())
    text = Path(path).read_bytes()
    Path(path).write_bytes(text[: text.rindex(b"GUARDS")])
    assert watched(path) == set()


def test_a_word_of_the_variable_may_switch_something_off() -> None:
    assert artifacts("TORCH_LOGS", "-dynamo,recompiles") == {"recompiles"}
    assert artifacts("ONEDNN_VERBOSE", "0") == frozenset()
    assert artifacts("ONEDNN_VERBOSE", "profile,dispatch") == {"onednn_verbose", "onednn_dispatch"}


def _own(folder: Path) -> dict[str, str]:
    """Return settings of one thread, and a cache that nobody else empties."""
    return {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a healthy program and its plain log, recorded with what a check needs."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("healthy")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    switches = {"TORCH_LOGS": "graph_breaks,recompiles", "ONEDNN_VERBOSE": "1"}
    done = subprocess.run(
        [sys.executable, str(folder / "program.py")],
        env=os.environ | switches | _own(folder),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, timeout=300,
    )  # fmt: skip
    (folder / "run.log").write_bytes(done.stdout)
    return folder


def check(*args: str) -> int:
    return main(["analyze", *args, "--require", "ONE,GBR,RCP", "--fail-on", "warning", "-q"])


@pytest.mark.live
def test_the_check_of_a_healthy_plain_log_passes(healthy: Path) -> None:
    assert check(str(healthy / "run.log"), "--recorded-with", ",".join(NEEDED)) == 0


@pytest.mark.live
@pytest.mark.parametrize("missing", NEEDED)
def test_without_one_switch_it_fails_and_names_it(
    missing: str, healthy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ",".join(name for name in NEEDED if name != missing)
    assert check(str(healthy / "run.log"), "--recorded-with", given) == 1
    said = capsys.readouterr().err
    assert f"no evidence for {FAMILY[missing]}" in said
    assert (
        "ONEDNN_VERBOSE=1" if missing == "onednn_verbose" else f'TORCH_LOGS="{missing}"'
    ) in said


@pytest.mark.live
def test_the_check_of_a_recorded_healthy_program_passes(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _own(healthy).items():
        monkeypatch.setenv(name, value)
    bundle = str(healthy / "bundle")
    assert main(["run", "-q", "-o", bundle, "--", sys.executable, str(healthy / "program.py")]) == 0
    assert check(bundle) == 0


@pytest.mark.live
def test_the_check_of_a_recorded_block_passes(healthy: Path) -> None:
    lines = PROGRAM.strip().splitlines()
    block = "\n".join(f"    {line}" for line in lines[2:])
    text = (
        f"import tracelens\n{lines[0]}\n{lines[1]}\nwith tracelens.recording('block'):\n{block}\n"
    )
    (healthy / "recorded.py").write_text(text, encoding="utf-8")
    subprocess.run(
        [sys.executable, "recorded.py"], cwd=healthy, check=True, timeout=300,
        env=os.environ | _own(healthy), stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert check(str(healthy / "block")) == 0
