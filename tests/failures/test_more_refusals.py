# ruff: noqa: E501 -- lines that torch and others print
"""Messages that name what is refused, with what decides between two answers beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tracelens import Finding, analyze

SITE = "/home/ana/venv/lib/python3.12/site-packages"


def told(text: str, path: Path) -> Finding:
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def ids(found: Finding) -> list[str]:
    return [one.id for one in found.advice]


IMPORT = r"""  File "D:\app\venv\Lib\site-packages\triton\backends\amd\compiler.py", line 2, in <module>
    from triton._C.libtriton import ir, passes, llvm, amd
ImportError: DLL load failed while importing {}
"""


@pytest.mark.parametrize(
    "said",
    [
        "libtriton: The specified module could not be found.",
        "libtriton: Eine DLL-Initialisierungsroutine ist fehlgeschlagen.",
        "libtriton: 动态链接库(DLL)初始化例程失败。",
    ],
)
def test_tritons_library_is_not_loaded_in_any_language(said: str, tmp_path: Path) -> None:
    found = told(IMPORT.format(said), tmp_path / "post.txt")
    assert found.title.startswith("Windows could not load Triton's own library")
    assert ids(found) == ["known-message"]
    assert "vcruntime140" in found.advice[0].text
    assert "compiled or loaded a kernel" not in found.message


def test_other_libraries_are_not_tritons(tmp_path: Path) -> None:
    found = told(IMPORT.format("_psutil_windows: x"), tmp_path / "post.txt")
    assert "Triton's own library" not in found.title


RUN = f"""Traceback (most recent call last):
  File "{SITE}/torch/_inductor/utils.py", line 2962, in run
    out = model(new_inputs)
  File "/tmp/torchinductor_ana/qr/cqr6.py", line 88, in call
    extern_kernels._int_mm(buf1, reinterpret_tensor(arg2_1, (64, 64), (1, 64), 0), out=buf2)
RuntimeError: {{}}
"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("self.size(0) needs to be greater than 16, but got 4", "more than 16 rows"),
        (
            "self.size(1) needs to be greater than 0 and a multiple of 8, but got 9",
            "multiples of 8",
        ),
        (
            "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got 9",
            "multiples of 8",
        ),
    ],
)
def test_an_integer_product_has_least_sizes(said: str, words: str, tmp_path: Path) -> None:
    found = told(RUN.format(said), tmp_path / "run.log")
    assert words in found.title
    assert ids(found)[0] == "known-message"
    assert "bisect" not in ids(found)


def test_other_sizes_are_looked_for(tmp_path: Path) -> None:
    found = told(RUN.format("self.size(0) needs to be even, but got 4"), tmp_path / "run.log")
    assert "bisect" in ids(found)


CLASS = f"""  File "{SITE}/torch/_inductor/constant_folding.py", line 210, in run_node
    out = self._deduce_value(node)
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
NotImplementedError: {{name}} dispatch: attempting to run unimplemented operator/function: aten.t.default

While executing %t : [num_users=1] = call_function[target=torch.ops.aten.t.default](args = ({{node}},), kwargs = {{{{}}}})
"""


@pytest.mark.parametrize("name", ["Int4Tensor", "MyQuantizedTensor"])
def test_a_class_of_tensors_is_no_bug_of_inductor(name: str, tmp_path: Path) -> None:
    frozen = told(CLASS.format(name=name, node="%_frozen_param2"), tmp_path / "run.log")
    assert "Inductor)" not in frozen.title
    assert ids(frozen) == ["unwrap", "unfrozen", "known-message"]
    traced = told(CLASS.format(name=name, node="%primals_1"), tmp_path / "run.log")
    assert ids(traced) == ["known-message"]


def test_other_errors_of_freezing_are_told_as_before(tmp_path: Path) -> None:
    text = CLASS.format(name="x", node="%_frozen_param2").replace(
        "x dispatch: attempting", "trying"
    )
    found = told(text, tmp_path / "run.log")
    assert "minifier" in ids(found)
    assert "unwrap" not in ids(found)


LOWERED = """torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
LoweringException: TypeError: 'NoneType' object is not callable
  target: aten.sum.dim_IntList
  args[0]: TensorBox(StorageBox(
    InputBuffer(name='arg0_1', layout=FixedLayout('{device}', torch.float32, size=[8, 8], stride=[8, 1]))
  ))

Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information
"""


def test_apples_gpu_needs_a_torch_that_compiles_for_it(tmp_path: Path) -> None:
    found = told(LOWERED.format(device="mps"), tmp_path / "run.log")
    assert "2.8" in found.advice[0].text
    assert ids(found) == ["known-message"]
    other = told(LOWERED.format(device="xpu"), tmp_path / "run.log")
    assert "bug of Inductor" in other.title
    assert "known-message" not in ids(other)


KEYS = """Traceback (most recent call last):
  File "/home/ana/proj/eval.py", line 14, in <module>
    {call}
RuntimeError: Error(s) in loading state_dict for Net:
\tMissing key(s) in state_dict: "stem.weight", "head.bias"
"""
LOAD = "net.load_state_dict(torch.load(path))"


@pytest.mark.parametrize(
    ("said", "is_compiled"),
    [
        ("The keys in the file begin with _orig_mod.", True),
        ("print(next(iter(state)))  ->  _orig_mod.stem.weight", True),
        ("net.load_state_dict() fails: there is an `_orig_mod` before the names", True),
        ("The file is of another model, I think.", False),
        # What the program takes off already is no reason.
        ("state = {k.replace('_orig_mod.', ''): v for k, v in state.items()}", False),
        ("torch.save(net._orig_mod.state_dict(), path)", False),
    ],
)
def test_missing_weights_beside_the_name_of_a_compiled_model(
    said: str, tmp_path: Path, *, is_compiled: bool
) -> None:
    found = told(f"{said}\n\n{KEYS.format(call=LOAD)}", tmp_path / "post.txt")
    assert ("of a compiled model" in found.title) == is_compiled
    assert ids(found) == ["own-weights" if is_compiled else "known-message"]


FAKE = (
    "torch._dynamo.exc.TorchRuntimeError: Failed running call_function {}(*(FakeTensor(..., size=(6, 2)),"
    " FakeTensor(..., size=(6,), dtype=torch.int64), 0), **{{}}):\n"
    "The tensor has a non-zero number of elements, but its data is not allocated yet.\n"
)


@pytest.mark.parametrize(("name", "how"), [("max", "amax"), ("add", "sum"), ("mean", "mean")])
def test_a_scatter_of_an_extension_has_torchs_own_in_its_place(
    name: str, how: str, tmp_path: Path
) -> None:
    found = told(FAKE.format(f"torch_scatter.scatter_{name}"), tmp_path / "run.log")
    assert "no implementation for fake tensors" in found.title
    assert ids(found) == ["scatter-reduce", "fake-kernel"]
    src, index = torch.arange(12.0).view(6, 2), torch.tensor([0, 2, 1, 1, 2, 0])
    scope = {"src": src, "index": index, "n": 4}
    exec(found.advice[0].code or "", scope)  # noqa: S102 -- what is advised
    groups = [src[index == group] for group in range(3)]
    each = [getattr(group, how)(0) for group in groups]
    assert torch.equal(scope["out"][:3], torch.stack(each))
    assert not scope["out"][3].any()


def test_another_operator_is_asked_for_a_fake_kernel(tmp_path: Path) -> None:
    found = told(FAKE.format("knn_ops.nearest"), tmp_path / "run.log")
    assert ids(found) == ["fake-kernel"]
    assert "knn_ops::nearest" in (found.advice[0].code or "")
