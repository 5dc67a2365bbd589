"""Scripts that show a finding: that they run anywhere, and show it."""

import ast
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.live.reports import finding as made_up
from tests.live.reports import report as reporting
from tests.live.running import AVX512
from tracelens import cli, engine
from tracelens.errors import UsageError
from tracelens.live.repro import find, script
from tracelens.report import EvidenceLine, Report, Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def read(code: str, name: str) -> Report:
    path = next(RULES.glob(f"{code}-*")) / name
    return engine.analyze(str(path), select=[code])


def written(code: str, name: str) -> str:
    report = read(code, name)
    return script(report, next(f for f in report.findings if f.code == code))


def run(
    python: str, text: str, env: dict[str, str], folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    path = folder / "repro.py"
    path.write_text(text)
    env = {name: value for name, value in env.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [python, str(path), *words],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )


#: Code, fixture, and what the script must print: one for each way in which a script is made. What
#: the programs in them show is tested for every rule in ``test_micro``.
CASES = [
    ("ONE001", "fires-x86-bf16-convolution.log", "convolution,ref:any,"),
    ("ONE003", "fires-cnn-not-frozen.log", "exec,cpu,reorder,"),
    ("RCP002", "fires-dynamic-false.log", "expected 16, actual 17"),
    ("GBR001", "fires-item-2.13.log", "Graph break"),
    ("TUN002", "fires-onednn-wins.log", "_linear_pointwise"),
]


@pytest.mark.live
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_script_shows_its_finding(
    case: tuple[str, str, str],
    torch_python: str,
    torch_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    code, name, shown = case
    done = run(torch_python, written(code, name), torch_environment, tmp_path, "--untimed")
    if code == "TUN002" and done.returncode:  # who wins is the machine's to say
        assert "not shown here" in done.stdout
        return
    if code == "ONE001" and not AVX512:  # torch has no bfloat16 convolution of oneDNN there
        assert "not shown here" in done.stdout
        assert "needs the cpu support" in done.stdout
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown in done.stdout


@pytest.mark.live
def test_a_script_tells_how_long_a_step_takes(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    text = written("ONE008", "fires-sse41.log")
    done = run(torch_python, text, torch_environment, tmp_path)
    assert "isa:Intel SSE4.1" in done.stdout
    assert " ms per step, median of " in done.stdout


@pytest.mark.live
def test_on_another_architecture_it_says_what_holds_there(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    text = written("ONE001", "fires-aarch64-bf16-frozen-linear.log")
    assert "MACHINE = 'aarch64'" in text
    done = run(torch_python, text, torch_environment, tmp_path)
    if "on aarch64" in done.stdout:
        return
    assert done.returncode == 1
    assert "the log is from aarch64, and this machine is " in done.stdout
    assert "here" in done.stdout


def test_the_script_of_the_slow_aarch64_layer_is_complete() -> None:
    text = written("ONE001", "fires-aarch64-bf16-frozen-linear.log")
    ast.parse(text)
    assert "oneDNN 3.7.1" in text
    assert "AArch64 SVE (256 bits)" in text
    assert "WANTED = ('exec,cpu,inner_product,ref:any,', ',mb64ic64oc64,')" in text
    assert "torch.ops.mkldnn._linear_pointwise(x, packed, b, " in text
    assert (
        "./benchdnn --mode=P --engine=cpu --ip --dir=FWD_I --dt=bf16:bf16:bf16 --bia-dt=bf16 "
        "--stag=ab --wtag=ba --dtag=ab --attr-scratchpad=user mb64ic64oc64"
    ) in text


def test_names_of_people_stay_out_of_it() -> None:
    text = (
        "onednn_verbose,v1,primitive,exec,cpu,softmax,ref:any,forward_training,src:f32::blocked:ab::"
        "f0 dst:f32::blocked:ab::f0,,alg:softmax_accurate axis:1,64x32,1"
    )
    line = EvidenceLine(input="run.log", line=1, text=text)
    about = EvidenceLine(input="run.log", line=2, text="/home/ana/secret/model.py")
    found = made_up(
        "ONE001",
        evidence=(line, about),
        title="in /home/ana/secret/model.py",
        data={"descriptors": [text]},
    )
    report = reporting(found, isa="Intel AVX2")
    assert "/home/ana" not in script(report, found)
    assert "/home/ana" in script(report, found, redact=False)


@pytest.mark.parametrize(
    "text", ['"""\nimport os', "x\r\nimport os", "x\x0cimport os", "\\", "a\0b"]
)
def test_no_text_ends_a_comment(text: str) -> None:
    row = (
        "onednn_verbose,v1,primitive,exec,cpu,binary,ref:any,undef,src:f32::blocked:ab::f0 "
        "src:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,alg:binary_mul,64x32:64x32,1"
    )
    lines = tuple(EvidenceLine(input="run.log", line=1, text=each) for each in (row, text))
    found = made_up(
        "ONE001", evidence=lines, title=text, severity=Severity.ERROR, data={"descriptors": [row]}
    )
    tree = ast.parse(script(reporting(found, isa=text, torch=text), found))
    names = [
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    ]
    assert names == ["os", "platform", "subprocess", "sys", "time", "torch"]


def test_a_finding_is_named_by_id_or_by_code() -> None:
    report = read("ONE001", "fires-x86-signed-int8.log")
    one, other = (f for f in report.findings if f.code == "ONE001")
    assert find(report, one.id) == one
    with pytest.raises(UsageError, match="2 findings") as raised:
        find(report, "one001")
    assert other.id in raised.value.hint
    with pytest.raises(UsageError, match="no such finding"):
        find(report, "ONE999")


def test_without_a_program_of_ours_it_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = reporting(made_up("TRC001"))
    path = tmp_path / "report.json"
    path.write_text(report.to_json())
    assert cli.main(["repro", str(path), "TRC001"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no small program shows it" in said.err
    assert "tracelens run -- COMMAND" in said.err


def test_the_command_writes_a_file_or_standard_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = str(next(RULES.glob("ONE001-*")) / "fires-x86-signed-activations.log")
    assert cli.main(["repro", log, "ONE001"]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "show.py"
    assert cli.main(["repro", log, "ONE001", "-o", str(path)]) == 0
    assert path.read_text() == text
    assert text.startswith("#!/usr/bin/env python3\n")
    assert shlex.split(next(line for line in text.splitlines() if "benchdnn -" in line)[2:])
    assert cli.main(["repro", str(tmp_path / "none.json"), "ONE001"]) == 2
