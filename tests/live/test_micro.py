"""Small programs from evidence: what they hold, and that they run what the log shows."""

import ast
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.reports import finding as made_up
from tests.live.reports import report as reporting
from tests.live.running import AVX512
from tracelens import cli, engine
from tracelens.live import micro, steps
from tracelens.live.micro import Pair, Program
from tracelens.live.micro._code import DTYPES, Variant, program
from tracelens.live.micro._operators import code
from tracelens.logs.onednn_verbose import OnednnVerbose, PrimitiveExec
from tracelens.report import Finding, Report, saved

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
EXPERIMENTS = {rule.code: rule.experiment for rule in engine.select_rules() if rule.experiment}
#: What a program may import.
MODULES = {"torch", "torch._inductor.config", "logging"}
#: Codes whose fixtures must give a program, and one of their fixtures.
SUPPORTED = {
    "ONE001": "fires-x86-signed-activations.log",
    "ONE002": "fires-default-layout.log",
    "ONE003": "fires-cnn-not-frozen.log",
    "ONE005": "fires-bf16-without-avx512.log",
    "ONE008": "fires-sse41.log",
    "ONE009": "fires-operators.log",
    "ONE018": "fires-compiled-not-frozen.log",
    "ONE020": "fires-float16-convolution.log",
    "ONE021": "fires-aarch64.log",
    "TUN002": "fires-onednn-wins.log",
    "TUN012": "fires-fewer-instructions.log",
    "RCP002": "fires-dynamic-false.log",
    "RCP003": "fires-first-change.log",
    "RCP004": "fires-range.log",
    "RCP005": "fires-2.8.log",
    "RCP006": "fires-many-names.log",
    "RCP007": "fires-step-counter.log",
    "RCP008": "fires-function-per-layer.log",
    "RCP009": "fires-class-per-layer.log",
    "RCP010": "fires-many-modes.log",
    "RCP011": "fires-inference-tensors.log",
    "RCP012": "quiet-once.log",
    "RCP013": "fires-three-dtypes.log",
    "RCP014": "fires-three-ranks.log",
    "RCP015": "fires-transposed.log",
    "RCP016": "fires-two-dimensions.log",
    "RCP017": "fires-growing.log",
    "RCP020": "fires-same-tensor.log",
    "RCP022": "fires-scheduler.log",
    "RCP023": "fires-branch-on-sign.log",
    "RCP026": "fires-closure.log",
    "RCP027": "fires-other-keys.log",
    "RCP031": "fires-flag.log",
    "GBR001": "fires-item-2.13.log",
    "GBR002": "fires-if-2.13.log",
    "GBR003": "fires-print-2.13.log",
    "GBR004": "fires-logger-2.13.log",
    "GBR008": "fires-nonzero-2.13.log",
    "GBR011": "fires-no-fake-2.13.log",
    "GBR019": "fires-lstm.log",
    "GBR020": "fires-requires-grad.log",
}


def read(code_: str, name: str = "") -> tuple[Finding, Report]:
    folder = next(RULES.glob(f"{code_}-*"))
    report = engine.analyze(str(folder / (name or SUPPORTED[code_])), select=[code_])
    return next(f for f in report.findings if f.code == code_), report


def pair(code_: str, name: str = "") -> Pair:
    found = micro.build(EXPERIMENTS[code_].micro, *read(code_, name))
    assert found is not None
    return found


def built(found: Finding) -> Pair | None:
    return micro.build(EXPERIMENTS[found.code].micro, found, reporting())


@pytest.mark.parametrize("code_", SUPPORTED)
def test_a_program_is_made_of_our_own_words(code_: str) -> None:
    found = pair(code_)
    for each in filter(None, (found.before, found.after, found.shown)):
        tree = ast.parse(each.source)
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert imported <= MODULES
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert "def setup():" in each.source
    assert found.lines.parts
    assert found.before.source != found.after.source or found.knob.settings


HOSTILE = "');__import__('os').system('id')#"


_PRODUCT = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,{},undef,src:bf16::blocked:ab::f0 "
    "wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,{},,64x32:32x16,1.5"
)
_ELTWISE = (
    "onednn_verbose,v1,primitive,exec,cpu,eltwise,ref:any,forward_training,"
    "data:f32::blocked:ab::f0,,alg:{} alpha:0,64x32,1.5"
)
_SOFTMAX = (
    "onednn_verbose,v1,primitive,exec,cpu,softmax,ref:any,forward_training,"
    "src:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,alg:softmax_accurate axis:{},64x32,1"
)


@pytest.mark.parametrize(
    "text",
    [
        _PRODUCT.format(HOSTILE, ""),
        _PRODUCT.format("ref:any", f"attr-post-ops:{HOSTILE}"),
        _ELTWISE.format(HOSTILE),
        _SOFTMAX.format(HOSTILE),
    ],
)
def test_what_stands_in_a_log_does_not_get_into_a_program(text: str) -> None:
    told = {"descriptors": [text]}
    found = built(made_up("ONE001", data=told))
    for each in (found.before, found.after) if found is not None else ():
        assert "system" not in each.source
        ast.parse(each.source)


@pytest.mark.parametrize(
    "guard",
    [
        {"kind": "value", "name": "n", "expected": HOSTILE},
        {"kind": "size", "name": "x", "dimension": 1, "expected": HOSTILE, "actual": "3"},
        {"kind": "size", "name": "x", "dimension": HOSTILE, "expected": "2", "actual": "3"},
        {"kind": "dtype", "name": HOSTILE, "expected": "Float", "actual": HOSTILE},
        {"kind": ["value"], "expected": {"a": HOSTILE}},
    ],
)
@pytest.mark.parametrize("code_", ["RCP002", "RCP004", "RCP013"])
def test_nor_what_stands_in_a_guard(code_: str, guard: dict[str, object]) -> None:
    found = built(made_up(code_, data={"guards": [guard]}))
    assert found is None or "system" not in found.before.source + found.after.source


def test_a_workload_that_does_not_fit_into_memory_is_not_made() -> None:
    huge = (
        "onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,src:bf16::blocked:ab::f0 "
        "wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,,,900000x900000:900000x900000,1.5"
    )
    told = {"descriptors": [huge]}
    assert built(made_up("ONE001", data=told)) is None


def test_evidence_without_a_program_gives_none() -> None:
    assert micro.build("", made_up(), reporting()) is None
    assert built(made_up("ONE001")) is None
    assert built(made_up("RCP002")) is None
    assert built(made_up("TUN002")) is None
    assert micro.build("graph_break:no_such_form", made_up("GBR015"), reporting()) is None


@pytest.mark.parametrize("code_", ["GBR006", "GBR007", "GBR009", "GBR016"])
def test_what_differs_from_program_to_program_has_none(code_: str) -> None:
    """A call of `time` is not one of `sys._getframe`, nor a lock a file."""
    assert EXPERIMENTS[code_].micro == ""


@pytest.mark.parametrize(
    ("code_", "guard"),
    [
        ("RCP008", {"kind": "identity", "path": ".norm", "note": "type=<class 'Norm'>"}),
        ("RCP023", {"kind": "relation", "name": "t % 2", "operator": "==", "expected": "0"}),
    ],
)
def test_another_form_is_not_passed_off_as_the_recorded_one(
    code_: str, guard: dict[str, str]
) -> None:
    assert built(made_up(code_, data={"guards": [guard]})) is None


def test_a_product_that_was_tuned_on_a_gpu_is_not_run_on_a_cpu() -> None:
    found, told = read("TUN002")
    environment = told.environment.model_copy(update={"device": "NVIDIA H100"})
    there = told.model_copy(update={"environment": environment})
    assert micro.build("autotune", found, told) is not None
    assert micro.build("autotune", found, there) is None


def test_the_sizes_are_those_of_the_log() -> None:
    assert "(256, 512)" in pair("ONE001").before.source
    assert "dtype=torch.int8" in pair("ONE001").before.source
    assert ".to(torch.uint8)" in pair("ONE001").after.source
    sizes = pair("RCP002").before.source
    assert [f"torch.randn(({size}, 8))" in sizes for size in (16, 17, 18)] == [True] * 3
    assert "dynamic=False" in sizes


def test_a_product_is_tuned_anew_with_the_threads_of_the_log_and_with_one() -> None:
    found, told = read("TUN001", "fires-one-of-three.log.gz")
    assert micro.build("autotune", found, told) is None, "the log does not tell the threads"
    environment = told.environment.model_copy(update={"threads": 16})
    made = micro.build("autotune", found, told.model_copy(update={"environment": environment}))
    assert made is not None
    assert "torch.nn.Linear(256, 256, bias=True, dtype=torch.float32)" in made.before.source
    assert made.before.source == made.after.source
    assert made.before.env["OMP_NUM_THREADS"] == "16"
    assert made.knob.env["OMP_NUM_THREADS"] == "1"


def test_the_log_of_another_architecture_says_so() -> None:
    assert pair("ONE001", "fires-aarch64-bf16-frozen-linear.log").machine == "aarch64"
    assert pair("ONE001").machine == "x86_64"


# With torch.


def primitives() -> Iterator[PrimitiveExec]:
    """Yield the distinct executions of the fixtures whose data types every x86-64 machine has."""
    seen = set()
    for path in sorted(RULES.glob("ONE*/*.log")):
        for line in path.read_text(errors="replace").splitlines():
            if not line.startswith("onednn_verbose,v1,primitive,exec,cpu"):
                continue
            run = OnednnVerbose.parse(line)[0]
            if not isinstance(run, PrimitiveExec):
                continue
            key = run.primitive, run.precision, run.shape, run.attributes.post_ops, run.prop_kind
            plain = set(run.dtypes.values()) <= {"f32", "u8", "s8"} and run.primitive != "reorder"
            float_product = run.primitive == "matmul" and run.dtypes.get("src") == "f32"
            if plain and not float_product and key not in seen:
                seen.add(key)
                yield run


CHILD = """
import json, sys
for number, source in enumerate(json.load(open(sys.argv[1]))):
    space = {}
    exec(source, space)
    step = space["setup"]()
    print("##", number, flush=True)
    step()
    print("##", flush=True)
    if hasattr(step, "reference"):
        wanted, found = step.reference().double(), step().double()
        error = float((wanted - found).abs().max() / wanted.abs().max())
        assert error < 0.2, (number, error)
"""


@pytest.mark.live
def test_a_program_runs_the_primitive_of_the_log(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    runs = [(run, made) for run in primitives() if (made := code(run)) is not None]
    assert len(runs) > 40
    sources = tmp_path / "sources.json"
    sources.write_text(json.dumps([program("A test.", made) for _, made in runs]))
    done = subprocess.run(
        [torch_python, "-c", CHILD, str(sources)],
        check=False,
        env=torch_environment | {"ONEDNN_VERBOSE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines: dict[int, list[str]] = {}
    number = -1
    for line in done.stdout.splitlines():
        if line.startswith("##"):
            number = int(line[3:] or -1)
        elif number >= 0 and ",exec,cpu," in line:
            lines.setdefault(number, []).append(OnednnVerbose.measure(line)[0])
    for number, (run, _) in enumerate(runs):
        ran = [OnednnVerbose.parse(line)[0] for line in lines.get(number, [])]
        same = [
            other
            for other in ran
            if isinstance(other, PrimitiveExec)
            and (other.primitive, other.precision, other.shape)
            == (run.primitive, run.precision, run.shape)
            and other.attributes.post_ops == run.attributes.post_ops
        ]
        assert same, f"{run.primitive} {run.precision} {run.shape} ran as {ran}"


@pytest.mark.live
@pytest.mark.parametrize("code_", ["ONE001", "ONE002", "ONE003"])
def test_the_defect_is_in_the_first_program_and_not_in_the_second(
    code_: str, torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    found = pair(code_)
    counts = []
    for side in found.sides(torch_python, tmp_path):
        env = torch_environment | dict(side.workload.env) | dict(found.lines.env)
        done = subprocess.run(
            [*side.workload.argv, "--calls", "3"],
            check=False,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        log = tmp_path / "run.log"
        log.write_text(f"onednn_verbose,v1,info,gpu,runtime:none\n{done.stdout}{done.stderr}")
        counts.append(found.shows(engine.analyze(str(log))))
    before, after = counts
    if code_ == "ONE001" and not AVX512:  # there the plain gemm takes signed activations
        assert before == 0
    else:
        assert before > 0
    assert after == 0


DYNAMO = """
import json, runpy, sys
for number, path in enumerate(json.load(open(sys.argv[1]))):
    step = runpy.run_path(path)["setup"]()
    print("##", number, file=sys.stderr, flush=True)
    step()
"""


def reports_of(
    programs: list[Program], python: str, environment: dict[str, str], folder: Path
) -> Iterator[Report]:
    """Run programs one after the other in one process; yield what the log of each says."""
    folder.mkdir()
    paths = [folder / f"program{number}.py" for number in range(len(programs))]
    for path, program_ in zip(paths, programs, strict=True):
        path.write_text(program_.source)
    (folder / "paths.json").write_text(json.dumps([str(path) for path in paths]))
    done = subprocess.run(
        [python, "-c", DYNAMO, str(folder / "paths.json")],
        check=False,
        env=environment | {"TORCH_LOGS": "recompiles,graph_breaks"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = [part.partition("\n")[2] for part in done.stderr.split("## ")[1:]]
    assert len(said) == len(programs)
    for number, text in enumerate(said):
        log = folder / f"{number}.log"
        log.write_text(f"onednn_verbose,v1,info,gpu,runtime:none\n{text}")
        yield engine.analyze(str(log))


@pytest.mark.live
def test_each_program_of_dynamos_shows_its_own_code_and_the_changed_one_does_not(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    codes = [code_ for code_ in SUPPORTED if code_[:3] in {"RCP", "GBR"}]
    pairs = [pair(code_) for code_ in codes]
    sides = [[each.before for each in pairs], [each.after for each in pairs]]
    before, after = (
        list(reports_of(programs, torch_python, torch_environment, tmp_path / str(number)))
        for number, programs in enumerate(sides)
    )
    for code_, found, bad, good in zip(codes, pairs, before, after, strict=True):
        assert code_ in {f.code for f in bad.findings}, code_
        assert found.shows(good) < found.shows(bad), code_
        if found.structure != "fewer":
            assert found.shows(good) == 0, code_


@pytest.mark.live
def test_the_driver_times_records_and_compares(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "work.py").write_text(
        "import torch\n"
        "def step():\n    return torch.ones(3) + 1\n"
        "def setup():\n    return step\n"
        "def off():\n    step.reference = lambda: torch.ones(3) + 1.5\n    return step\n"
    )

    def drive(*words: str, **env: str) -> dict[str, object]:
        result = tmp_path / "result.json"
        command = [torch_python, str(micro.DRIVER), *words, "--result", str(result)]
        subprocess.run(command, env=torch_environment | env, cwd=tmp_path, check=True, timeout=600)
        answer: dict[str, object] = json.loads(result.read_text()) if result.exists() else {}
        return answer

    live = json.dumps({"folder": str(tmp_path)})
    timed = drive("--entry", "work:step", "--seconds", "0.05", TRACELENS_LIVE=live)
    assert isinstance(timed["seconds"], list)
    read_ = steps.read(tmp_path)
    assert list(read_.seconds) == timed["seconds"]
    assert read_.calls >= 7
    assert drive("--entry", "work:setup", "--mode", "compare") == {"max_abs": 0.0, "max_rel": 0.0}
    assert drive("--entry", "work:off", "--mode", "compare") == {"max_abs": 0.5, "max_rel": 0.2}
    assert os.environ.get("TRACELENS_LIVE") is None


@pytest.mark.live
def test_a_reference_kernel_is_shown_by_a_program_of_the_same_form(
    torch_python: str,
    torch_environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The unchanged product takes about forty times as long: noise does not decide this."""
    for name, value in torch_environment.items():
        monkeypatch.setenv(name, value)
    log = next(RULES.glob("ONE001-*")) / "fires-x86-signed-int8.log"
    report = engine.analyze(str(log), select=["ONE001"])
    wanted = next(f for f in report.findings if "s8:s8:f32" in f.title)
    path = tmp_path / "report.json"
    path.write_text(report.to_json())
    command = ["confirm", str(path), "--only", wanted.id, "--python", torch_python, "-q"]
    assert cli.main([*command, "--minutes", "3"]) == 0
    answer = next(f for f in saved.load(str(path)).findings if f.id == wanted.id).confirmation
    if not AVX512:
        assert (answer.state, answer.reason) == ("inconclusive", "not_applicable"), answer.note
        assert "did not show" in answer.note
        return
    assert (answer.state, answer.reason) == ("inconclusive", "same_form_only"), answer.note
    assert "not yours" in answer.note
    assert answer.knob == "unsigned int8 activations"
    assert answer.structure is not None
    assert answer.structure.after == 0
    assert answer.effect is not None
    assert answer.effect.ratio > 3
    assert answer.deviation is not None
    assert answer.deviation.unchanged_max_abs is not None


def test_names_of_data_types_are_a_list_of_ours() -> None:
    assert all(name.startswith("torch.") for name in DTYPES.values())
    assert Variant("as recorded") is Variant.RECORDED
