"""A title names what the paste names: no half of a name, no row of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

BACKEND = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
SHIM = """\
In file included from /home/ana/venv/lib/python3.11/site-packages/torch/include/torch/csrc/inductor/aoti_runtime/model.h:9,
                 from /tmp/torchinductor_ana/ab/cab12.cpp:2:
/tmp/torchinductor_ana/ab/cab12.cpp: In member function 'void torch::aot_inductor::AOTInductorModel::run_impl()':
/tmp/torchinductor_ana/ab/cab12.cpp:71:33: error: {said}
   71 |     AOTI_TORCH_ERROR_CODE_CHECK({name}(buf1, buf0));
"""  # noqa: E501 -- as g++ prints it
REAL = """\
Exception: Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. \
Found in aten.mul.Tensor(*(Parameter containing:
tensor([[ 0.2500, -1.5000],
        [ 3.0000,  0.1250]], requires_grad=True), 2), **{})
"""  # noqa: E501 -- as torch prints it
VIOLATED = """\
torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['ids'].size()[1])! \
For more information, run with TORCH_LOGS="+dynamic".
- Not all values of RelaxedUnspecConstraint(L['ids'].size()[1]) are valid because L['ids'].size()[1] was inferred to be a constant (9).
"""  # noqa: E501 -- as torch prints it
HEADER = """\
C:/Users/ana/AppData/Local/Temp/tmp1a2b/cuda_utils.c:13: error: include file 'Python.h' not found
Failed to compile. cc_cmd: ['D:\\\\ui\\\\python_embeded\\\\Lib\\\\site-packages\\\\triton\\\\runtime\\\\tcc\\\\tcc.exe']
"""  # noqa: E501 -- as Triton prints it
TABLE = "AUTOTUNE addmm(8x64, 8x32, 32x64)\n  triton_mm_4 0.0310 ms 100.0% BLOCK_K=32\n"
SECOND = "  triton_mm_5 0.0320 ms 96.9% BLOCK_K=64\n"
TAKES = "SingleProcess AUTOTUNE benchmarking takes 1.5 seconds and 0.1 seconds precompiling\n"


def _first(text: str, tmp_path: Path) -> Finding:
    return _told(text, tmp_path)[0]


def _told(text: str, tmp_path: Path) -> list[Finding]:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).findings)


def _advice(found: Finding) -> str:
    return " ".join(f"{one.text} {one.code or one.env or ''}" for one in found.advice)


@pytest.mark.parametrize(
    "said",
    [
        "[WinError 5] Access is denied",
        "[WinError 5] Zugriff verweigert",
        r"[WinError 32] The file is in use: 'C:\\Users\\ana\\AppData\\Local\\Temp\\tmp1a2b\\u.pyd'",
    ],
)
@pytest.mark.parametrize("head", [BACKEND, "torch._inductor.exc.InductorError: "])
def test_what_windows_refuses_is_no_bug_of_inductor(tmp_path: Path, head: str, said: str) -> None:
    found = _first(f"{head}PermissionError: {said}\n", tmp_path)
    assert found.code == "ERR000"
    assert found.title.startswith("Windows refused Inductor")
    assert "TORCHINDUCTOR_CACHE_DIR" in _advice(found)


def test_a_file_of_the_program_that_windows_refuses_is_the_programs(tmp_path: Path) -> None:
    said = r"PermissionError: [WinError 5] Access is denied: 'D:\\data\\out.csv'" + "\n"
    assert "Windows refused" not in _first(BACKEND + said, tmp_path).title


@pytest.mark.parametrize(
    ("name", "said", "operator"),
    [
        ("aoti_torch_cpu__bag", "'aoti_torch_cpu__bag' was not declared in this scope", "_bag"),
        ("aoti_torch_erfinv", "use of undeclared identifier 'aoti_torch_erfinv'", "erfinv"),
        ("aoti_torch_erfinv", "C3861: 'aoti_torch_erfinv': identifier not found", "erfinv"),
    ],
)
def test_an_operator_without_a_c_function_needs_no_other_compiler(
    tmp_path: Path, name: str, said: str, operator: str
) -> None:
    found = _first(SHIM.format(name=name, said=said), tmp_path)
    assert found.code == "ERR007"
    assert f"`{operator}`" in found.title
    assert "newer torch" in _advice(found)
    assert "CXX" not in _advice(found)
    assert "vcvars" not in _advice(found)


def test_another_name_that_is_not_declared_is_the_compilers_affair(tmp_path: Path) -> None:
    found = _first(SHIM.format(name="f", said="'tmp7' was not declared in this scope"), tmp_path)
    assert found.code == "ERR007"
    assert "CXX" in _advice(found)


def test_a_tensor_with_data_is_told_by_the_operator_and_not_by_its_values(tmp_path: Path) -> None:
    title = _first(REAL, tmp_path).title
    assert title.endswith("in `aten.mul.Tensor`")


def test_a_dimension_keeps_its_brackets(tmp_path: Path) -> None:
    assert "`L['ids'].size()[1]`" in _first(VIOLATED, tmp_path).title
    named = VIOLATED.replace("L['ids'].size()[1]", "batch")
    assert "`batch`" in _first(named, tmp_path).title


def test_no_version_of_python_is_guessed(tmp_path: Path) -> None:
    found = _first(HEADER, tmp_path)
    assert found.code == "ERR004"
    assert "python_embeded" in _advice(found)
    assert "Python312" not in _advice(found)


def test_one_row_does_not_tell_whether_a_search_paid(tmp_path: Path) -> None:
    (one,) = _told(TABLE + TAKES, tmp_path)
    (two,) = _told(TABLE + SECOND + TAKES, tmp_path)
    assert "search paid:" not in str(one.harmless)
    assert "search paid:" in str(two.harmless)


@pytest.mark.parametrize(("folder", "wraps"), [("venv/torch/_dynamo", False), ("proj", True)])
def test_a_function_of_torch_becomes_no_custom_operator(
    tmp_path: Path, folder: str, *, wraps: bool
) -> None:
    text = f"Unsupported: call_function pin_down in skip_files /home/ana/{folder}/tools.py\n"
    assert ("custom_op" in _advice(_first(text, tmp_path))) == wraps
