"""Advice that somebody who follows it literally cannot follow, or that raises, is not printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import FIXTURES, ids, recompiled, told
from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.dyn.size_specialised_by_code import SizeSpecialisedByCode, SpecializedData
from tracelens.rules.rcp._data import Guard, RecompileData
from tracelens.rules.rcp._kinds_of_items import loops_over
from tracelens.rules.rcp._operations import takes_tensor, written_out
from tracelens.rules.rcp._relation import RelationData, is_made_inside
from tracelens.rules.rcp._written import is_written


def of(code: str, name: str) -> Finding:
    (folder,) = FIXTURES.glob(f"{code}-*")
    found = [one for one in analyze(str(folder / f"{name}.log")).findings if one.code == code]
    return found[0]


def data(source: str, code: str) -> RecompileData:
    return RecompileData(cause="", function="f", file="f.py", line=1, source=source, code=code)


@pytest.mark.parametrize(
    ("code", "name", "advised", "withheld"),
    [
        ("RCP005", "fires-clamp", "pass-tensor", "multiply"),
        ("RCP005", "fires-math", "compute-outside", "multiply"),
        ("RCP005", "fires-taken-as-a-number", "multiply", "pass-tensor"),
        ("RCP006", "fires-phase", "one-per-value", "keep-chosen"),
        ("RCP007", "fires-rounds", "compile-body", "unspec-int"),
        ("RCP007", "fires-pool", "", "unspec-int"),
        ("RCP007", "fires-step-counter", "unspec-int", "compile-body"),
        ("RCP015", "fires-leaf", "one-layout", "contiguous"),
        ("RCP015", "fires-written", "", "contiguous"),
        ("RCP015", "fires-transposed", "contiguous", "one-layout"),
        ("RCP016", "fires-batch-norm", "pad", "unbacked"),
        ("RCP017", "fires-modules", "compile-items", "same-keys"),
        ("RCP017", "fires-several-sizes", "compile-body", "stack"),
        ("RCP017", "fires-numbers", "call-uncompiled", "stack"),
        ("RCP023", "fires-made-inside", "pad", "branch-outside"),
    ],
)
def test_what_is_advised_instead(code: str, name: str, advised: str, withheld: str) -> None:
    found = ids(of(code, name))
    assert withheld not in found
    assert (advised in found) if advised else not found


def test_why_nothing_is_advised_is_said() -> None:
    assert "as `range` and the size of a pool do" in of("RCP007", "fires-pool").message
    assert "writes into it" in of("RCP015", "fires-written").message
    assert "numbers of Python" in of("RCP017", "fires-numbers").message


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("fires-double", "torch.tensor(dt, dtype=torch.float64)"),
        ("fires-dynamic-false", "torch.tensor(scale)"),
    ],
)
def test_a_tensor_has_the_precision_of_the_others(name: str, code: str) -> None:
    assert code in {advice.code for advice in of("RCP005", name).advice}


def test_a_name_that_getattr_looks_up_selects_what_is_called() -> None:
    (folder,) = FIXTURES.glob("RCP006-*")
    found = analyze(str(folder / "fires-getattr.log")).findings
    (act,) = (one for one in found if one.code == "RCP006" and "`act`" in one.title)
    assert ids(act) == ["compile-chosen"]


def test_a_flag_that_the_first_call_sets_is_not_set_before_it(tmp_path: Path) -> None:
    for value, is_advised in (("== False", False), ("is None", True)):
        found = told("RCP031", recompiled("forward", f"self.table {value}"), tmp_path)
        assert ("in-init" in ids(found)) == is_advised


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("dst.mul_(0.9)", True),
        ("dst[0] = x", True),
        ("dst += x", True),
        ("dst = dst * 2", False),
        ("if dst[0] == x:", False),
        ("x.copy_(dst)", False),
        ("y = dst.__len__()", False),
    ],
)
def test_what_a_line_writes_into(code: str, is_one: bool) -> None:
    assert is_written(data("dst", code)) == is_one


@pytest.mark.parametrize(
    ("code", "tensor", "written"),
    [
        ("x.clamp(-c, c)", True, ""),
        ("torch.where(x > 0, x, x.exp() * c)", True, ""),
        ("x ** c", True, ""),
        ("F.huber_loss(x.clamp(0), y, delta=c)", False, ""),
        ("F.leaky_relu(x.clamp(0), c)", False, "torch.where(x > 0, x, c * x)"),
        ("torch.add(p, g, alpha=c)", False, "p - c * g"),
        ("x.clamp(0, math.exp(c))", False, ""),
    ],
)
def test_what_an_operation_takes(code: str, tensor: bool, written: str) -> None:
    assert (takes_tensor(data("c", code)), written_out(data("c", code))) == (tensor, written)


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("for f in feats: out = out + lin(f)", True),
        ("for at, f in enumerate(feats):", True),
        ("for f in feats.values():", False),
        ("return torch.cat(feats)", False),
    ],
)
def test_which_line_loops_over_a_list(code: str, is_one: bool) -> None:
    assert loops_over(data("feats", code)) == is_one


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("if c.shape[-2:] != a.shape[-2:]:", True),
        ("if x.shape[1] % 4:", False),
        ("if n % 4:", False),
        ("if c.size(1) < x.size(1):", False),
    ],
)
def test_whose_size_a_branch_reads(code: str, is_one: bool) -> None:
    guards = (Guard(kind="relation", name="x.size()[1] % 4", operator="==", expected="0"),)
    found = RelationData(
        cause="", function="f", file="f.py", line=1, code=code, guards=guards, source="x"
    )
    assert is_made_inside(found) == is_one


@pytest.mark.parametrize(
    ("code", "advised"),
    [
        ("for i in range(x.shape[0]): out.append(lin(x[i]))", ["compile-body", "vectorize"]),
        ("bias = TABLE[x.shape[0]]", ["look-up-outside"]),
    ],
)
def test_a_loop_is_not_looked_up_outside(code: str, advised: list[str]) -> None:
    found = SpecializedData(source="L['x'].size()[0]", values=("5", "6"), code=code)
    assert [one.id for one in SizeSpecialisedByCode().advise(found)] == advised


def test_a_tensor_that_is_written_into_is_given_no_gradient(tmp_path: Path) -> None:
    for code, writes in (("x.add_(1.0)", True), ("return x.mean(1)", False)):
        reason = "tensor 'x' requires_grad mismatch. expected requires_grad=0"
        text = recompiled("blur", f"{reason}  # {code}  # proj/net.py:15 in blur")
        found = told("RCP012", text, tmp_path)
        assert not ids(found)
        assert ("writes into it" in found.message) == writes


@pytest.mark.parametrize(("what", "advised"), [("size", ["unequal-first"]), ("stride", [])])
def test_equal_strides_are_no_equal_sizes(what: str, advised: list[str], tmp_path: Path) -> None:
    """Without duck sizing such a slice has another condition, and as many entries."""
    guard = f"x.{what}()[0] == y.{what}()[0]  # duck sizing added this equality because these "
    guard += "variables had the same size 6 (to avoid this specialization, set "
    guard += "torch.fx.experimental._config.use_duck_shape = False)"
    found = told("RCP023", recompiled("forward", guard), tmp_path)
    assert ids(found) == advised
    assert ("Nothing is known that spares this entry" in found.message) is (not advised)


@pytest.mark.parametrize(("call", "is_advised"), [("mm", True), ("bmm", False)])
def test_a_product_of_batches_needs_their_size(call: str, is_advised: bool, tmp_path: Path) -> None:
    """Inductor raises where an unbacked batch may be 1."""
    reason = "tensor 'x' size mismatch at index 0. expected 8, actual 1"
    head = "V1128 12:49:26.507000 7 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
    code = ["Output code: ", "# AOT ID: ['0_inference']", "def call(args):"]
    code += ["    arg0_1, arg1_1 = args", "    buf0 = empty_strided_cpu((8, 4, 4), (16, 4, 1), 0)"]
    code += [f"    extern_kernels.{call}(arg0_1, arg1_1, out=buf0)", "    return (buf0, )"]
    text = "".join(f"{head}{line}\n" for line in code) + recompiled("forward", reason)
    found = told("RCP016", text, tmp_path)
    assert ("unbacked" in ids(found)) is is_advised


@pytest.mark.parametrize(("ones", "counted"), [(1, "1 entry of"), (2, "2 entries of")])
def test_entries_for_a_size_of_one_are_counted(ones: int, counted: str, tmp_path: Path) -> None:
    """One is told, too, where the function is near its limit."""
    reasons = [f"tensor 'x' rank mismatch. expected {n}, actual {n + 1}" for n in range(2, 8)]
    reasons += [f"tensor '{x}' size mismatch at index 0. expected 8, actual 1" for x in "ab"[:ones]]
    found = told("RCP016", recompiled("forward", *reasons), tmp_path)
    assert found.title.startswith(f"sizes of 0 or 1 took {counted} `forward`")
