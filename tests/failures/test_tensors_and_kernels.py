# ruff: noqa: E501 -- lines that torch and Triton print
"""Parameters among fake tensors, kernels that are written by hand, and two copies of libomp."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

REAL = (
    "Exception: Please convert all Tensors to FakeTensors first or\n"
    "instantiate FakeTensorMode with 'allow_non_fake_inputs'. Found in aten._to_copy.default(*({}\n"
    "tensor([[ 0.1, 0.2],\n        [ 0.3, 0.4]], device='cuda:0', requires_grad=True),), **{{'dtype': torch.float16}})\n"
)
SIZES = "out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.\n"
BY_HAND = (
    'Traceback (most recent call last):\n  File "/home/ana/proj/serve.py", line 9, in forward\n    y = product(x, w)\n'
    '  File "/home/ana/venv/lib/python3.12/site-packages/oddkernels/product.py", line 47, in product\n    kernel[(grid,)](x, w)\n'
)
GENERATED = (
    'Traceback (most recent call last):\n  File "/home/ana/proj/serve.py", line 9, in forward\n    y = compiled(x, w)\n'
    '  File "/home/ana/venv/lib/python3.12/site-packages/torch/_inductor/runtime/triton_heuristics.py", line 47, in run\n    self.launch(x, w)\n'
)
JIT = '  File "/home/ana/venv/lib/python3.12/site-packages/triton/runtime/jit.py", line 698, in run\n    kernel = self.compile(src)\n'
OMP = "OMP: Error #15: Initializing {}, but found {} already initialized.\n"


def first(text: str, folder: Path) -> Finding:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def ids(found: Finding) -> list[str]:
    return [one.id for one in found.advice]


@pytest.mark.parametrize(("shown", "is_parameter"), [("Parameter containing:", True), ("", False)])
def test_a_parameter_is_no_tensor_from_outside(
    shown: str, is_parameter: bool, tmp_path: Path
) -> None:
    found = first(REAL.format(shown), tmp_path)
    assert found.code == "ERR015"
    assert ids(found)[0] == ("compile-first" if is_parameter else "own")
    assert ("own" in ids(found)) is not is_parameter


@pytest.mark.parametrize("error", ["triton.runtime.errors.OutOfResources: ", ""])
def test_a_kernel_that_is_written_by_hand_is_not_inductors(error: str, tmp_path: Path) -> None:
    text = f"{BY_HAND}{JIT}{error}{SIZES}" if error else f"# {SIZES}\n```\n{BY_HAND}{JIT}"
    found = first(text, tmp_path)
    assert found.code == "ERR013"
    assert ids(found) == ["by-hand"]
    assert "oddkernels/product.py" in found.advice[0].text
    assert "text ends" not in found.message
    assert "Required: 131072" in found.message


def test_a_kernel_of_inductors_is_not_written_by_hand(tmp_path: Path) -> None:
    found = first(f"{GENERATED}{JIT}OutOfResources: {SIZES}", tmp_path)
    assert found.code == "ERR013"
    assert "by-hand" not in ids(found)
    assert "flex" in ids(found)


@pytest.mark.parametrize(
    ("held", "other", "is_own"),
    [
        ("libomp.dylib", "libomp.dylib", True),
        ("libomp.dylib", "libiomp5.dylib", False),
        ("libomp.so", "libomp.so", False),
    ],
)
def test_two_copies_of_libomp_on_macos_are_torchs_own(
    held: str, other: str, is_own: bool, tmp_path: Path
) -> None:
    found = first(OMP.format(held, other), tmp_path)
    assert found.code == "ENV010"
    assert ("newer-torch" in ids(found)) is is_own
