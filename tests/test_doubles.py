"""Graphs that compute in float64 by accident, told from those that mean to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.evidence.tables import Place, Seen
from tracelens.inductor.doubles import Doubles, doubles
from tracelens.logs.graph_code import FxGraph, GraphCode

HERE = Path(__file__).parents[1] / "fixtures" / "rules" / "IND028-double-precision"
HEAD = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "{x}", G_W_: "{w}"):
        # File: /home/ana/proj/fit.py:7 in fit, code: return x @ W
"""
#: 512 x 256 numbers of 64 bits are 1 MiB.
SIZE = "[512, 256][256, 1]cpu"
W = "[256, 256][256, 1]cpu"


def found(
    *lines: str, x: str = "f32", w: str = "f64", code: str = "return x @ W"
) -> Doubles | None:
    body = [f"        {line}" for line in (*lines, "return (y,)")]
    head = HEAD.replace("return x @ W", code)
    text = head.format(x=x + SIZE, w=w + W) + "\n".join(body) + "\n"
    (record,) = GraphCode.parse(text)
    assert isinstance(record, FxGraph)
    assert len(record.nodes) == len(lines)
    return doubles(Seen(record, 1, [Place("run.log", 1)], text))


def typed(label: str, code: str, dtype: str = "f64", size: str = SIZE) -> str:
    return f'{label}: "{dtype}{size}" = {code}'


CAST, PRODUCT = typed("a", "L_x_.double()"), typed("y", "a @ G_W_")


def test_data_that_a_constant_makes_float64() -> None:
    one = found(CAST, PRODUCT)
    assert one is not None
    assert (one.is_converted, one.has_parameters, one.inputs) == (True, False, ("W",))
    assert (one.bytes, one.share, one.node.label) == (2 << 20, 1.0, "a")
    assert one.seen.quote(at=one.line).text.strip() == CAST


@pytest.mark.parametrize(
    ("code", "cast", "explicit"),
    [
        ("x.double() @ W", "L_x_.double()", True),
        ("x.to(DTYPE) @ W", "L_x_.to(torch.float64)", True),
        ("x.to(W.dtype) @ W", "L_x_.to(torch.float64)", False),
        ("x.type_as(W) @ W", "L_x_.type_as(G_W_)", False),
        ("(x * W[0]) @ W", "L_x_ * G_W_", False),
    ],
)
def test_a_line_that_asks_for_float64_is_told_from_one_that_follows_its_operand(
    code: str, cast: str, explicit: bool
) -> None:
    one = found(typed("a", cast), PRODUCT, code=code)
    assert one is not None
    assert one.is_converted
    assert one.is_explicit is explicit


def test_an_array_of_numpy_is_no_tensor() -> None:
    given = typed("w", "torch.as_tensor(g_w_)", size=W)
    one = found("g_w_ = G_W_", given, typed("y", "L_x_ @ w"))
    assert one is not None
    assert one.arrays == one.inputs == ("W",)
    plain = found("g_w_ = G_W_", typed("w", "g_w_ * 2", size=W), typed("y", "L_x_ @ w"))
    assert plain is not None
    assert plain.arrays == ()


def test_a_name_that_no_line_of_the_program_has_is_left_as_dynamo_prints_it() -> None:
    one = found("l_x_ = L_x_", typed("y", "l_x_ @ G_W_"), x="f64")
    assert one is not None
    assert one.inputs == ("x", "W")
    assert not one.is_converted


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((CAST, typed("y", "a * 2")), "no product: kernels convert in registers"),
        ((CAST, PRODUCT, typed("s", "torch.linalg.solve(y, a)")), "a solver needs the digits"),
        (
            (typed("h", "L_x_ @ L_x_", "f32"), typed("y", "h.double() @ G_W_", size="[4, 4]cpu")),
            "small",
        ),
        (
            (
                *(typed(f"h{n}", "L_x_ + 1", "f32") for n in range(5)),
                typed("y", "h1.double() @ G_W_"),
            ),
            "a small part",
        ),
    ],
)
def test_what_is_no_accident_or_no_matter(lines: tuple[str, ...], why: str) -> None:
    assert found(*lines) is None, why


def test_below_a_mebibyte_nothing_is_said() -> None:
    assert found(typed("y", "L_x_.double() @ G_W_")) is not None
    assert found(typed("y", "L_x_.double() @ G_W_", size="[511, 256][256, 1]cpu")) is None


def test_parameters_of_a_module_are_known_by_their_names() -> None:
    text = HEAD.replace("G_W_", "L_fn_modules_0_parameters_weight_")
    linear = "torch._C._nn.linear(L_x_, L_fn_modules_0_parameters_weight_, None)"
    text = text.format(x="f64" + SIZE, w="f64" + W) + f"        {typed('y', linear)}\n"
    (record,) = GraphCode.parse(text + "        return (y,)\n")
    assert isinstance(record, FxGraph)
    one = doubles(Seen(record, 1, [Place("run.log", 1)], text))
    assert one is not None
    assert one.has_parameters


NUMPY = "torch__dynamo_utils_wrapped_{}(L_x_, G_W_)"


def test_products_of_numpy_are_products_and_its_operands_arrays() -> None:
    one = found(typed("y", NUMPY.format("matmul")), x="f64")
    assert one is not None
    assert one.arrays == one.inputs == ("x", "W")
    assert found(typed("y", NUMPY.format("matmul_1")), x="f64") is not None
    assert found(typed("y", NUMPY.format("maximum")), x="f64") is None


def test_solvers_of_numpy_need_the_digits() -> None:
    product = typed("a", NUMPY.format("matmul"))
    assert found(product, typed("y", "torch__dynamo_utils_wrapped_sqrt(a)"), x="f64") is not None
    for name in ("solve", "inv", "cholesky_2", "eigh"):
        solved = typed("y", f"torch__dynamo_utils_wrapped_{name}(a)")
        assert found(product, solved, x="f64") is None


def test_what_makes_float64_of_its_data_comes_before_what_is_given_more(tmp_path: Path) -> None:
    both = (HERE / "fires-data.log", HERE / "fires-kernel.log")
    log = tmp_path / "run.log"
    log.write_text("".join(path.read_text() for path in both))
    (finding,) = [one for one in analyze(str(log)).findings if one.code == "IND028"]
    assert finding.severity == "warning"
    assert finding.data["is_converted"]
