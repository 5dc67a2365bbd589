"""A stage is named where a compiler was at work; an error of the program's own is told as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.errors import TracelensError
from tracelens.failures.stages import own_stage
from tracelens.report import Finding

LIBRARIES = "/home/ana/venv/lib/python3.11/site-packages"
TORCH = f"{LIBRARIES}/torch"
#: A log of compiling, so that what ends the program is looked at at all.
BROKEN = """\
V1122 02:27:42.661000 2992 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] Graph \
break in user code at /home/ana/proj/train.py:4
V1122 02:27:42.661000 2992 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] Graph \
Break Reason: Data-dependent branching
"""
HEAD = "Traceback (most recent call last):\n"
CALL = '  File "/home/ana/proj/train.py", line 12, in <module>\n    main()\n'
OWN = '  File "/home/ana/proj/train.py", line 9, in rows\n    return table["x"]\n'
WRAPPED = (
    f'  File "{TORCH}/_dynamo/eval_frame.py", line 1166, in compile_wrapper\n    return fn()\n'
)
KEPT_OUT = (
    f'  File "{TORCH}/_compile.py", line 54, in inner\n    return disable_fn()\n'
    f'  File "{TORCH}/_dynamo/eval_frame.py", line 1446, in _fn\n    return fn()\n'
)
GENERATED = '  File "/tmp/torchinductor_ana/ab/cab.py", line 40, in call\n    buf0 = op(arg0_1)\n'
LOADER = f'  File "{TORCH}/utils/data/_utils/worker.py", line 374, in _worker_loop\n    fetch()\n'
#: What is raised, in the same words wherever it is.
ERROR = "KeyError: 'x'\n"
COMPILE = ("TORCHDYNAMO_DISABLE", "torch._dynamo.reset", "compiler.disable")


def first(tmp_path: Path, text: str) -> Finding:
    path = tmp_path / "pasted.log"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def advised(finding: Finding) -> str:
    return " ".join(f"{one.text} {one.env} {one.code}" for one in finding.advice)


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(CALL + OWN, id="after compiling"),
        pytest.param(CALL + LOADER + OWN, id="data loader"),
        pytest.param(CALL + KEPT_OUT + OWN, id="kept out of Dynamo"),
    ],
)
def test_an_error_outside_of_compiled_code_is_the_programs(frames: str, tmp_path: Path) -> None:
    found = first(tmp_path, BROKEN + HEAD + frames + ERROR)
    assert (found.code, found.severity) == ("ERR000", "error")
    assert "KeyError: 'x'" in found.title
    assert "the program's own" in found.message
    assert "compiled code ran" not in found.message
    assert "proj/train.py:9" in advised(found)
    assert not any(word in advised(found) for word in COMPILE)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        pytest.param(CALL + GENERATED + OWN, "It failed while compiled code ran.", id="generated"),
        pytest.param(CALL + WRAPPED + OWN, "the traceback does not tell.", id="given"),
    ],
)
def test_the_same_error_below_compiled_code(frames: str, said: str, tmp_path: Path) -> None:
    found = first(tmp_path, BROKEN + HEAD + frames + ERROR)
    assert found.code == "ERR000"
    assert said in found.message
    assert "outside of compiled code" not in found.message
    assert "TORCHDYNAMO_DISABLE=1" in advised(found)


def test_a_wrapper_around_the_failing_function_does_not_tell_what_ran(tmp_path: Path) -> None:
    """It may be compiled code, or the function itself where Dynamo gave it up."""
    found = first(tmp_path, BROKEN + HEAD + CALL + WRAPPED + OWN + ERROR)
    assert "It failed " not in found.message


def test_a_module_that_is_missing_is_no_matter_of_compiling(tmp_path: Path) -> None:
    error = "ModuleNotFoundError: No module named 'einops'\n"
    found = first(tmp_path, BROKEN + HEAD + CALL + error)
    assert found.code == "ERR000"
    assert "Install what provides `einops`" in advised(found)
    assert not any(word in advised(found) for word in COMPILE)
    assert "compiled code ran" not in found.message


def test_logs_that_were_on_and_silent_say_that_nothing_was_compiled() -> None:
    folder = Path(__file__).parents[2] / "fixtures/rules/ERR000-unexplained-error"
    found = analyze(str(folder / "fires-data-loader-worker.log")).told[0]
    assert "nothing had been compiled" not in found.message
    assert "A worker of the data loader raised it." in found.message
    own = analyze(str(folder / "fires-import-before-compiling.log")).told[0]
    assert "outside of compiled code" in own.message


def test_torchrun_is_no_rank_that_waits() -> None:
    launcher = [f"{TORCH}/distributed/run.py", f"{TORCH}/distributed/elastic/api.py"]
    assert own_stage(launcher) == "program"
    assert own_stage([*launcher, f"{TORCH}/distributed/distributed_c10d.py"]) == "collective"


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: Output 0 of Slice is a view and its base has been modified inplace.",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    ],
)
def test_what_comes_late_may_be_of_compiled_code(error: str, tmp_path: Path) -> None:
    found = first(tmp_path, BROKEN + HEAD + CALL + OWN + error + "\n")
    assert "outside of compiled code" not in found.message
    assert "TORCHDYNAMO_DISABLE=1" in advised(found)


def test_a_name_that_torch_logs_does_not_know_is_no_error_of_the_program() -> None:
    log = "fixtures/rules/ERR000-unexplained-error/fires-unknown-log-name.log"
    found = analyze(str(Path(__file__).parents[2] / log)).findings[0]
    assert found.title.startswith("TORCH_LOGS has a name that this torch does not know")
    assert found.data["facts"].get("own") is None
    assert [advice.setting or advice.code for advice in found.advice] == [
        "TORCH_LOGS=help python -c 'import torch'"
    ]


def test_what_torch_prints_of_its_logs_is_no_failure(tmp_path: Path) -> None:
    frame = f'  File "{TORCH}/_logging/_internal.py", line 808, in _parse_log_settings\n'
    path = tmp_path / "help.log"
    path.write_text(f"{HEAD}{CALL}{frame}ValueError: \nTORCH_LOGS Info\n\nExamples:\n")
    with pytest.raises(TracelensError):
        analyze(str(path))


#: A library that tries to import Triton, and does without it.
TRIED = (
    "A matching Triton is not available, some optimizations will not be enabled\n"
    f'{HEAD}  File "{LIBRARIES}/xformers/__init__.py", line 57, in _is_triton_available\n'
    "    import triton  # noqa\nModuleNotFoundError: No module named 'triton'\n"
)
NEEDED = (
    f'{HEAD}{CALL}  File "{TORCH}/_inductor/scheduler.py", line 3428, in create_backend\n'
    "    raise TritonMissing(inspect.currentframe())\n"
    "torch._inductor.exc.TritonMissing: Cannot find a working triton installation.\n"
)


@pytest.mark.parametrize("said", [TRIED, "import error: No module named 'triton'\n"])
def test_an_import_that_a_library_does_without_is_no_failure(tmp_path: Path, said: str) -> None:
    went_on = tmp_path / "went-on.log"
    went_on.write_text(said + BROKEN + "step\n" * 100)
    assert not any(one.code.startswith("ERR") for one in analyze(str(went_on)).findings)
    ended = tmp_path / "ended.log"
    ended.write_text(BROKEN + said)
    assert analyze(str(ended)).findings[0].code == "ERR008"


def test_what_inductor_needs_is_a_failure_whatever_follows(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(NEEDED + "step\n" * 100 + BROKEN)
    assert analyze(str(log)).findings[0].code == "ERR008"


UNUSED = "appears to not have been used in the graph. Set allow_unused=True"


@pytest.mark.parametrize(
    ("said", "before", "is_open"),
    [
        (f"The differentiated Tensor at index 0 {UNUSED}", BROKEN, True),
        (f"One of the differentiated Tensors {UNUSED}", BROKEN, True),
        (f"The differentiated Tensor at index 0 {UNUSED}", "", False),
        ("element 0 of tensors does not require grad", BROKEN, True),
        ("it does not currently support double backward", BROKEN, True),
        ("grad can be implicitly created only for scalar outputs", BROKEN, False),
    ],
)
def test_what_autograd_says_of_compiled_graphs_too_is_not_called_the_programs(
    said: str, before: str, is_open: bool, tmp_path: Path
) -> None:
    engine = f'  File "{TORCH}/autograd/__init__.py", line 594, in grad\n    run()\n'
    found = first(tmp_path, f"{before}{HEAD}{CALL}{OWN}{engine}RuntimeError: {said}\n")
    assert found.code == "ERR000"
    assert ("of the program's own" not in found.message) is is_open
    assert ("in the program itself" not in found.message) is is_open
    assert ("TORCHDYNAMO_DISABLE=1" in advised(found)) is is_open


PACKAGE = f"{LIBRARIES}/oddlib/nets.py"
MADE = (
    f'  File "{PACKAGE}", line 30, in __init__\n    self.register()\n'
    f'  File "{PACKAGE}", line 41, in register\n    HOOKS[self] = True\n'
)
CALLED = f'  File "{PACKAGE}", line 30, in forward\n    self.register()\n{MADE}'
IMPORTED = (
    '  File "<frozen importlib._bootstrap>", line 241, in _call_with_frames_removed\n'
    f'  File "{PACKAGE}", line 3, in <module>\n    from torch import gone\n'
)


@pytest.mark.parametrize(
    ("frames", "does", "may_be_compiled"),
    [
        pytest.param(MADE, "while an object of it is made", False, id="made"),
        pytest.param(IMPORTED, "while it is imported", False, id="imported"),
        pytest.param(CALLED, "outside of compiled code", True, id="called"),
    ],
)
def test_what_a_package_raises_is_not_the_programs_own(
    frames: str, does: str, may_be_compiled: bool, tmp_path: Path
) -> None:
    found = first(tmp_path, BROKEN + HEAD + CALL + frames + "TypeError: unhashable type: 'Net'\n")
    assert found.code == "ERR000"
    assert "in `oddlib`" in found.title
    assert "the program's own" not in found.message
    assert "in the program itself" not in found.message
    assert "called from proj/train.py:12" in found.message
    assert does in advised(found)
    assert "report it to its authors" in advised(found)
    assert ("TORCHDYNAMO_DISABLE=1" in advised(found)) is may_be_compiled


def test_what_the_program_raises_for_a_package_is_its_own(tmp_path: Path) -> None:
    """A package that calls back what the program defines."""
    frames = CALL + MADE + OWN
    found = first(tmp_path, BROKEN + HEAD + frames + ERROR)
    assert "the program's own" in found.message
    assert "oddlib" not in found.title + found.message + advised(found)
