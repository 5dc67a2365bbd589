"""What whoever only uses a package is told: nothing that means to write its code anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
OWN = "/home/ana/proj/model.py"
PACKAGE = "/home/ana/venv/lib/python3.11/site-packages/oddlib/layers.py"

EXEC = "onednn_verbose,v1,primitive,exec,cpu,"
PLAIN, BLOCKS = "f32::blocked:abcd::f0", "f32::blocked:aBcd16b::f0"
#: A convolution of a signal of a certain length, between the conversions of its layout.
LAYER = "".join(
    f"{EXEC}{line}\n"
    for line in (
        f"reorder,jit:blk,undef,src:{PLAIN} dst:{BLOCKS},attr-scratchpad:user,,16x16x1x{{n}},0.3",
        (
            "convolution,jit:avx512_core,forward_training,src:f32:a:blocked:aBcd16b::f0 "
            "wei:f32:a:blocked:ABcd16b16a::f0 bia:f32:a:blocked:a::f0 "
            "dst:f32:a:blocked:aBcd16b::f0,attr-scratchpad:user,alg:convolution_direct,"
            "mb16_ic16oc16_ih1oh1kh1sh1dh0ph0_iw{n}ow{n}kw3sw1dw0pw1,0.5"
        ),
        f"reorder,jit:blk,undef,src:{BLOCKS} dst:{PLAIN},attr-scratchpad:user,,16x16x1x{{n}},0.3",
    )
)
#: The same without a direct kernel.
UNROLLED = (
    f"{EXEC}convolution,gemm:jit,forward_training,src:f32:a:blocked:abcd::f0 "
    "wei:f32:a:blocked:abcd::f0 bia:f32:a:blocked:a::f0 dst:f32:a:blocked:abcd::f0,"
    "attr-scratchpad:user,alg:convolution_direct,"
    "mb16_ic3oc3_ih1oh1kh1sh1dh0ph0_iw{n}ow{n}kw31sw1dw0pw15,2.5\n"
)
PREFIX = "V1123 05:56:08.100000 5315 torch/_dynamo/output_graph.py:2835] [0/0] [__graph_code] "
GRAPH = "".join(
    f"{PREFIX}{line}\n"
    for line in (
        "TRACED GRAPH",
        " ===== __compiled_fn_1_0dbd7b0c_8ab1_4fbd_9a0c_4c0e7d3c4d8a =====",
        (
            " /home/ana/venv/lib/python3.11/site-packages/torch/fx/_lazy_graph_module.py "
            "class GraphModule(torch.nn.Module):"
        ),
        (
            '    def forward(self, L_x_: "f32[16, 16, 200][3200, 200, 1]cpu", '
            'L_w_: "f32[16, 16, 3][48, 3, 1]cpu"):'
        ),
        "        l_x_ = L_x_",
        "        l_w_ = L_w_",
        "         # File: {file}:12 in forward, code: x = conv1d(x, self.weight, None, 1, 1)",
        (
            '        x: "f32[16, 16, 200][3200, 200, 1]cpu" = '
            "torch.conv1d(l_x_, l_w_, None, 1, 1);  l_x_ = l_w_ = None"
        ),
        "        return (x,)",
        "",
    )
)


def found(tmp_path: Path, code: str, *parts: str) -> Finding:
    """Return the one finding of ``code`` in a log of these parts."""
    log = tmp_path / "run.log"
    log.write_text("".join(parts), encoding="utf-8")
    (finding,) = [one for one in analyze(str(log)).findings if one.code == code]
    return finding


@pytest.mark.parametrize("code", ["ONE002", "ONE004"])
def test_the_signals_of_a_package_are_a_note_for_another_reason_than_ones_own(
    tmp_path: Path, code: str
) -> None:
    one = LAYER if code == "ONE004" else UNROLLED
    layers = "".join(one.format(n=n) for n in (200, 400)) * 4
    parts = [(GRAPH.replace("{file}", PACKAGE), layers), (GRAPH.replace("{file}", OWN), layers)]
    # Without the graph, nobody knows whose lines they are.
    for told, of_package in zip((*parts, (layers,)), (True, False, False), strict=True):
        finding = found(tmp_path, code, *told)
        assert (finding.severity, finding.advice) == (Severity.NONE, ())
        assert ("installed package" in (finding.harmless or "")) is of_package


def test_a_fourier_transform_in_the_graph_makes_the_complex_numbers(tmp_path: Path) -> None:
    path = FIXTURES / "IND010-complex-ops-not-lowered" / "fires-warning-alone.log"
    warning = path.read_text(encoding="utf-8")
    graph = GRAPH.replace("{file}", PACKAGE)
    transform = graph.replace(
        "torch.conv1d(l_x_, l_w_, None, 1, 1)", "torch._C._fft.fft_fft2(l_x_)"
    )
    assert found(tmp_path, "IND010", transform, warning).severity is Severity.NONE
    alone = found(tmp_path, "IND010", graph, warning)
    assert alone.severity is Severity.INFO
    # What is computed is not known: a rotation in real numbers is no advice on it.
    assert [one.id for one in alone.advice] == ["two-parts"]


def test_a_recurrent_module_behind_which_dynamo_resumes_loses_no_function(tmp_path: Path) -> None:
    path = FIXTURES / "GBR019-recurrent-module-skipped" / "fires-lstm.log"
    text = path.read_text(encoding="utf-8")
    given_up = found(tmp_path, "GBR019", text)
    assert "whole function" in given_up.title
    assert [one.id for one in given_up.advice] == ["compile-around"]
    gave_up = "Failed to handle graph break gracefully. Skipping the function and falling back"
    lines = [line for line in text.splitlines(keepends=True) if gave_up not in line]
    assert len(lines) < len(text.splitlines())
    cut = found(tmp_path, "GBR019", *lines)
    assert "whole function" not in cut.title
    assert cut.severity is Severity.WARNING
    moved = [line.replace("/home/ana/proj/", f"{PACKAGE.rpartition('/')[0]}/") for line in lines]
    assert found(tmp_path, "GBR019", *moved).severity is Severity.INFO
    # What stands before and after it is compiled already.
    assert [one.id for one in cut.advice] == ["allow-rnn"]


#: An error outside of compiled code, that no known words explain.
RAISED = """\
Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 9, in <module>
    y = fit(model, x)
  File "{file}", line 41, in fit
    raise ValueError("the residual of the equation is none")
ValueError: the residual of the equation is none
"""


def test_nobody_is_told_to_mend_an_error_in_a_package(tmp_path: Path) -> None:
    warned = f"{PREFIX}TRACED GRAPH\n"
    own = found(tmp_path, "ERR000", warned, RAISED.replace("{file}", OWN))
    theirs = found(tmp_path, "ERR000", warned, RAISED.replace("{file}", PACKAGE))
    assert [one.advice[0].id for one in (own, theirs)] == ["own", "own"]
    assert own.advice[0].text.startswith("Mend it in the program")
    assert theirs.advice[0].text.startswith("`oddlib` raises it")
