"""Advice of which the log tells that it would change nothing, or raise, is not printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import FIXTURES, ids
from tracelens import analyze
from tracelens.dynamo.size_lines import slices_at
from tracelens.report import Finding
from tracelens.rules.gbr._break_data import BreakData
from tracelens.rules.gbr.autograd_inside_graph import AutogradInsideGraph
from tracelens.rules.ind.fallback_kernel import FallbackKernel
from tracelens.rules.rcp._data import ManyData, RecompileData
from tracelens.rules.rcp._marking import FirstChangeData
from tracelens.rules.rcp.first_dynamic_recompile import FirstDynamicRecompile
from tracelens.rules.rcp.module_int_attribute import ModuleIntAttribute
from tracelens.rules.rcp.tensor_size_keeps_changing import TensorSizeKeepsChanging

PACKAGED = "/home/ana/venv/lib/python3.11/site-packages/mbrl/models/util.py"
#: The time of a backward primitive, at the end of its line.
_MS = re.compile(r"^(onednn_verbose,.*,backward_(?:data|weights),.*,)(\d+\.\d+)$", re.MULTILINE)


def of(code: str, log: Path) -> list[Finding]:
    return [one for one in analyze(str(log)).findings if one.code == code]


def test_training_in_heavy_primitives_is_no_matter_of_compiling(tmp_path: Path) -> None:
    log = FIXTURES / "CMP008-training-not-compiled" / "fires-after.log"
    (light,) = of("CMP008", log)
    assert ids(light) == ["in-place"]
    heavy = tmp_path / "heavy.log"
    heavy.write_text(_MS.sub(lambda found: f"{found[1]}{20.5}", log.read_text()))
    (finding,) = of("CMP008", heavy)
    assert finding.severity == "none"
    assert "20 ms each" in str(finding.harmless)


def test_what_is_passed_in_alone_is_computed_once() -> None:
    data = FallbackKernel.Data(operators=("aten.cumprod",), calls=1, bytes=8 << 20)
    rule = FallbackKernel()
    assert not rule.advise(data)
    given = data.model_copy(update={"is_given": True})
    assert [one.id for one in rule.advise(given)] == ["rewrite"]


def test_an_operator_without_advice_is_no_warning(tmp_path: Path) -> None:
    log = FIXTURES / "IND001-fallback-kernel" / "fires-cumsum-8-mib.log"
    (counted,) = of("IND001", log)
    assert counted.severity == "warning"
    summed = tmp_path / "summed.log"
    summed.write_text(log.read_text().replace("torch.int64", "torch.float32"))
    (finding,) = of("IND001", summed)
    assert finding.severity == "info"
    assert not finding.advice
    assert "No change is named" in finding.message


@pytest.mark.parametrize(
    ("name", "advised"),
    [
        ("fires-cut-slice-2.13", ["capture-narrow"]),
        ("fires-cut-slice-inference-2.13", ["capture-scalars"]),
    ],
)
def test_no_gradient_flows_through_a_slice_that_ends_at_a_symbol(
    name: str, advised: list[str]
) -> None:
    (finding,) = of("GBR001", FIXTURES / "GBR001-scalar-from-tensor" / f"{name}.log")
    assert ids(finding) == advised
    assert ("`y = y[:n]`" in finding.advice[0].text) == (advised == ["capture-narrow"])


@pytest.mark.parametrize(
    ("code", "cuts"),
    [("y = y[:n]", True), ("y = y[:, n + 1 :]", True), ("y = y[n]", False), ("y = y[:m]", False)],
)
def test_a_slice_that_ends_at_a_number(code: str, cuts: bool) -> None:
    assert slices_at(code, "n") == cuts


def broken_at(code: str, reason: str = "Unsupported Tensor.requires_grad_() call") -> BreakData:
    return AutogradInsideGraph.Data(
        name="requires_grad_()",
        family="autograd",
        file="/home/ana/proj/train.py",
        line=4,
        function="f",
        code=code,
        reason=reason,
    )


@pytest.mark.parametrize(
    ("code", "passed_in"),
    [
        ("x.requires_grad_()", True),
        ("inputs['x'].requires_grad_(True)", True),
        ("q = q.detach().clone().requires_grad_()", True),
        ("q = (p + 0.1 * g).detach().requires_grad_()", False),
        ("self.encode(x).requires_grad_()", False),
    ],
)
def test_a_flag_is_set_before_on_what_exists_there(code: str, passed_in: bool) -> None:
    rule = AutogradInsideGraph()
    assert ("set-before" in [one.id for one in rule.advise(broken_at(code))]) == passed_in


def test_a_tensor_that_the_function_made_has_no_flag_before() -> None:
    made = broken_at("output.requires_grad_()", "requires_grad_() intermediate leaked as output")
    assert not AutogradInsideGraph().advise(made)


def of_attribute(source: str) -> list[str]:
    data = ManyData(
        cause="RCP007", function="f", file="f.py", line=1, source=source, values=("3", "1", "4")
    )
    return [one.id for one in ModuleIntAttribute().advise(data)]


def test_a_number_of_a_part_is_no_matter_of_compiling_the_model() -> None:
    assert "compile-model" in of_attribute("self.layer_index")
    assert "compile-model" not in of_attribute("self.objective.batch_size")
    assert "compile-model" not in of_attribute("node.word")


@pytest.mark.parametrize(("most", "file"), [(2, "f.py"), (3, PACKAGED), (2, PACKAGED)])
def test_three_sizes_of_a_package_are_not_padded(most: int, file: str) -> None:
    data = RecompileData(
        cause="RCP002", function="f", file=file, line=1, source="x", recompiles=most, most=most
    )
    found = [one.id for one in TensorSizeKeepsChanging().advise(data)]
    assert ("pad" in found) == (most > 2 or file != PACKAGED)


def test_rounds_that_numbers_count_are_fixed() -> None:
    log = FIXTURES / "GBR001-scalar-from-tensor" / "fires-list-of-lengths-2.13.log"
    assert [ids(one) for one in of("GBR001", log)] == [["fixed-rounds"]]


@pytest.mark.parametrize(
    ("name", "captured"), [("fires-into-attention-2.13", False), ("fires-into-a-layer-2.13", True)]
)
def test_no_size_is_captured_of_what_attention_gets(name: str, captured: bool) -> None:
    (finding,) = of("GBR008", FIXTURES / "GBR008-dynamic-output-shape" / f"{name}.log")
    assert ("capture-size" in ids(finding)) == captured
    assert "keep-size" in ids(finding)


@pytest.mark.parametrize(("times", "marked"), [(2.9, True), (6.0, False)])
def test_a_symbol_that_took_long_to_compile_is_not_asked_for(times: float, marked: bool) -> None:
    data = FirstChangeData(
        cause="RCP003", function="f", file="f.py", line=1, source="x", dimension=2, is_passed=True
    )
    told = data.model_copy(update={"times_longer": times})
    assert ("mark-dynamic" in [one.id for one in FirstDynamicRecompile().advise(told)]) == marked


_CHANGED = """\
V0101 00:00:00.000000 1 torch/_dynamo/guards.py:1] [{entry}] [__recompiles] Recompiling function \
{function} in /home/ana/proj/{file}:{line}
V0101 00:00:00.000000 1 torch/_dynamo/guards.py:1] [{entry}] [__recompiles]     triggered by the \
following guard failure(s):
V0101 00:00:00.000000 1 torch/_dynamo/guards.py:1] [{entry}] [__recompiles]     - {frame}/0: \
{check}
"""
_SIZE = "tensor '{}' size mismatch at index 1. expected 8, actual {}"


@pytest.mark.parametrize(("now", "alike"), [(9, True), (16, False)])
def test_what_changed_alike_before_a_break_is_marked_too(
    tmp_path: Path, now: int, alike: bool
) -> None:
    log = tmp_path / "run.log"
    before = {"entry": "0/1", "frame": 0, "function": "forward", "file": "parser.py", "line": 3}
    between = {"entry": "2/1", "frame": 2, "function": "embed"}
    behind = {"entry": "1/1", "frame": 1, "function": "torch_dynamo_resume_in_encode_at_7"}
    log.write_text(
        _CHANGED.format(**before, check=_SIZE.format("chars", now))
        + _CHANGED.format(**between, file="model.py", line=5, check="mode == 'train'")
        + _CHANGED.format(**behind, file="model.py", line=7, check=_SIZE.format("words", 9))
    )
    told = {str(one.data["source"]): one.data["alike"] for one in of("RCP003", log)}
    assert told["words"] == ([{"name": "chars", "dimension": 1}] if alike else [])
    assert told["chars"] == []


@pytest.mark.parametrize(("others", "compared"), [(0, True), (8, False)])
def test_onednn_is_not_turned_off_for_a_small_part_of_it(
    tmp_path: Path, others: int, compared: bool
) -> None:
    log = FIXTURES / "ONE015-many-tiny-primitives" / "fires-slow-small-products.log"
    reorder = (
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32:a:blocked:ab::f0 "
        "dst:f32:a:blocked:ba::f0,,,512x512,1.25\n"
    )
    changed = tmp_path / "run.log"
    changed.write_text(log.read_text().rstrip("\n") + "\n" + reorder * others)
    (finding,) = of("ONE015", changed)
    assert ("without-onednn" in ids(finding)) == compared


@pytest.mark.parametrize(
    ("name", "stays"), [("fires-kept-2.13", True), ("fires-kept-and-rounded-2.13", False)]
)
def test_no_tensor_takes_the_place_of_a_number_that_is_rounded(name: str, stays: bool) -> None:
    (finding,) = of("GBR001", FIXTURES / "GBR001-scalar-from-tensor" / f"{name}.log")
    assert ("keep-tensor" in ids(finding)) == stays
    assert finding.advice
