"""What the text around an error of ptxas says of the GPU decides whose Triton it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

ERROR = (
    '  File "/opt/venv/lib/python3.12/site-packages/triton/backends/nvidia/compiler.py", line 409, '
    "in make_cubin\n"
    "    raise RuntimeError(f'Internal Triton PTX codegen error: {log}')\n"
    "RuntimeError: Internal Triton PTX codegen error: \n"
    "ptxas fatal   : Value 'sm_103' is not defined for option 'gpu-name'\n"
)


def told(text: str, path: Path) -> Finding:
    path.write_text(text, encoding="utf-8")
    (found,) = (one for one in analyze(str(path)).told if one.code == "ERR010")
    return found


@pytest.mark.parametrize(
    "said",
    [
        "My card is a Radeon RX 6800, on Fedora.",
        "rocminfo says gfx1030",
        "torch 2.8.0+rocm6.4",
        "### GPU\n\nInstinct MI210\n",
    ],
)
def test_a_gpu_of_amd_needs_the_other_triton(said: str, tmp_path: Path) -> None:
    for text in (f"{said}\n\n{ERROR}", f"{ERROR}{'.' * 9}\n" + "\n" * 30 + f"{said}\n"):
        found = told(text, tmp_path / "post.txt")
        assert "AMD" in found.title
        assert [one.id for one in found.advice] == ["amd"]
        assert not found.advice[0].text.startswith("If")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "CPU: AMD EPYC 7763",
        "ROCM used to build PyTorch: N/A\nHIP runtime version: N/A",
        "I have a Radeon in the other machine; this one is a GeForce.",
    ],
)
def test_otherwise_it_is_ptxas_that_is_old(said: str, tmp_path: Path) -> None:
    found = told(f"{said}\n\n{ERROR}", tmp_path / "post.txt")
    assert "ptxas is too old" in found.title
    assert found.advice[0].id == "ptxas-path"
    assert any(one.id == "amd" and one.text.startswith("If") for one in found.advice)


def test_a_long_log_is_judged_by_what_failed(tmp_path: Path) -> None:
    """What else it prints may be of another machine."""
    text = "see gfx1030\n" + "step done\n" * 100 + ERROR
    assert "ptxas is too old" in told(text, tmp_path / "run.log").title
