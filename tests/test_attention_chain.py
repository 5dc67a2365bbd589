"""What may stand between the products of an attention that a fused kernel computes as well."""

from __future__ import annotations

import pytest

from tests.test_attention import FIRST, LAST, found
from tracelens.inductor.attention import is_nothing_else
from tracelens.inductor.attention_chain import chain
from tracelens.logs._statements import Origin
from tracelens.logs.graph_code import FxGraph, GraphCode

HEAD = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, q: "{0}", k: "{0}", v: "{0}", bias: "{1}", tau: "f32[4, 1, 1][1, 1, 1]cpu"):
        # File: /home/ana/proj/model.py:7 in attend, code: return attend(q, k, v)
""".format("f32[2, 4, 320, 64][81920, 20480, 64, 1]cpu", "f32[4, 320, 320][102400, 320, 1]cpu")
SCORES = "f32[2, 4, 320, 320][409600, 102400, 320, 1]cpu"


def graph(*lines: str, result: str = "y") -> FxGraph:
    """Return a traced graph of ``label = code`` lines, all of the scores' size."""
    body = [f"        {line.replace(' =', f': {chr(34)}{SCORES}{chr(34)} =', 1)}" for line in lines]
    (record,) = GraphCode.parse(HEAD + "\n".join([*body, f"        return ({result},)"]) + "\n")
    assert isinstance(record, FxGraph)
    assert len(record.nodes) == len(lines)
    return record


def plain(*lines: str, first: str = "s = q @ k", result: str = "y") -> bool | None:
    """Whether fused attention computes what stands between ``s`` and ``y = w @ v``."""
    found = chain(
        graph(first, *lines, "y = w @ v", result=result),
        Origin(nodes=("transpose", "s")),
        Origin(nodes=("w", "y")),
    )
    return None if found is None else found.is_plain


SOFTMAX = "w = a.softmax(-1)"


@pytest.mark.parametrize(
    "lines",
    [
        ("a = s * 0.125", SOFTMAX),
        ("a = s / 8.0", SOFTMAX),
        ("a = 0.125 * s", SOFTMAX),
        ("b = s * 0.125", "a = b + bias", SOFTMAX),
        ("a = bias + s", SOFTMAX),
        ("a = s.masked_fill(bias, -inf)", SOFTMAX),
        ("a = torch.where(bias, s, -inf)", SOFTMAX),
        ("a = torch.where(bias, -inf, s)", SOFTMAX),
        (
            "a = s.float()",
            "b = torch.nn.functional.softmax(a, dim = -1)",
            "w = b.to(torch.bfloat16)",
        ),
        ("a = s * tau", SOFTMAX),
        ("b = s / 50", "c = torch.tanh(b)", "a = c * 50", SOFTMAX),
        ("b = s.softmax(-1)", "w = torch.nn.functional.dropout(b, 0.1, True, False)"),
        ("a = s.masked_fill(bias, -1e9)", "b = a.softmax(-1)", "w = b.masked_fill(bias, 0.0)"),
        ("a = s * 0.5", "b = a.softmax(-1)", "c = b.view(8, 320, 320)", "w = c.contiguous()"),
    ],
)
def test_scores_are_scaled_and_masked_and_weights_dropped(lines: tuple[str, ...]) -> None:
    assert plain(*lines) is True


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("b = s.softmax(-1)", "w = b + bias"), "a bias on the weights"),
        (("b = s.softmax(-1)", "w = b * tau"), "gates on the weights"),
        (("b = s.softmax(-1)", "c = bias.softmax(-1)", "w = b - c"), "two softmaxes"),
        (("b = s.softmax(-1)", "w = b.softmax(-1)"), "a softmax of the weights"),
        (("b = s.softmax(-1)", "w = b.pow(2)"), "sharper weights"),
        (("b = s.softmax(-1)", "w = torch.where(bias, b, 0.0)"), "weights that are cut off"),
        (("b = s.softmax(-1)", "w = b.masked_fill(bias, 0.0)"), "a mask on the weights alone"),
        (("b = s.softmax(-1)", "w = b.detach()"), "weights without a gradient"),
        (("t = s.topk(16, -1)", "m = s < t", "a = s.masked_fill(m, -inf)", SOFTMAX), "the k best"),
        (("w = s.softmax(-1)", "g = w.mul_(bias)"), "gates that are multiplied in place"),
        (("w = torch.nn.functional.gumbel_softmax(s, dim = -1)",), "noise on the scores"),
        (("w = torch.log_softmax(s, -1)",), "logarithms"),
        (("a = s.relu()", SOFTMAX), "another function of the scores"),
        (("a = s.clamp(-1, 1)", SOFTMAX), "limits"),
        (("a = s * bias", SOFTMAX), "a factor per key"),
        (("a = s * s", SOFTMAX), "a square"),
        (("a = bias - s", SOFTMAX), "another sign"),
        (("a = 2.0 / s", SOFTMAX), "an inverse"),
        (
            ("a = torch.where(bias, s, tau)", "b = torch.where(bias, s, v)", "w = b.softmax(-1)"),
            "v",
        ),
        (
            ("a = torch.cat([s, tau], dim = -1)", "b = a.softmax(-1)", "w = b[(Ellipsis, 1)]"),
            "sink",
        ),
    ],
)
def test_nothing_else_is_plain_attention(lines: tuple[str, ...], why: str) -> None:
    assert plain(*lines) is False, why


BY_HAND = (
    "top = a.max(-1, keepdim = True)",
    "best = top[0]",
    "c = a - best",
    "e = c.exp()",
    "total = e.sum(-1, keepdim = True)",
    "w = e / total",
)


@pytest.mark.parametrize(
    "lines",
    [
        ("a = s * 0.125", *BY_HAND),
        ("b = s * 0.125", "a = b.masked_fill(bias, -inf)", *BY_HAND),
        ("a = s * 0.125", "fill_ = a.masked_fill_(bias, -inf)", *BY_HAND),
        ("a = s * 0.125", "fill_ = a.masked_fill_(bias, -inf)", SOFTMAX),
        (
            "a = s * 0.125",
            "b = torch.amax(a, dim = -1, keepdim = True)",
            "top = b.detach()",
            "c = a - top",
            "e = torch.exp(c)",
            "total = torch.sum(e, dim = -1, keepdim = True)",
            "w = torch.div(e, total)",
        ),
        ("a = s * 0.125", "e = a.exp()", *BY_HAND[4:]),
    ],
)
def test_a_softmax_may_be_written_out_and_a_mask_be_filled_in_place(lines: tuple[str, ...]) -> None:
    assert plain(*lines) is True


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            ("e = s.exp()", "total = e.sum(-2, keepdim = True)", "w = e / total"),
            "another dimension",
        ),
        (
            ("e = s.exp()", "t = e.sum(-1, keepdim = True)", "total = t + 1", "w = e / total"),
            "sink",
        ),
        (
            ("e = s.exp()", "m = e * bias", "total = m.sum(-1, keepdim = True)", "w = m / total"),
            "m",
        ),
        (
            ("e = s.exp()", "m = e * bias", "total = m.sum(-1, keepdim = True)", "w = e / total"),
            "m",
        ),
        (("a = s * 0.5", *BY_HAND[:2], "c = s - best", *BY_HAND[3:]), "the maximum of another"),
        (("a = s * 0.5", *BY_HAND, "lse = total.log()"), "a sum that is needed"),
        (("w = s.softmax(-1)", "g = w.mul_(bias)"), "gates in place"),
    ],
)
def test_what_only_looks_like_a_softmax_that_is_written_out(
    lines: tuple[str, ...], why: str
) -> None:
    assert plain(*lines) is not True, why


def test_of_several_products_in_a_comment_the_last_is_the_call() -> None:
    found = chain(
        graph("x = q @ k", "s = x @ k", "a = s.relu()", "w = a.softmax(-1)", "y = w @ v"),
        Origin(nodes=("x", "s")),
        Origin(nodes=("w", "y")),
    )
    assert found is not None
    assert not found.is_plain


def test_scores_that_something_else_needs_cannot_be_left_out() -> None:
    assert plain("a = s * 0.125", SOFTMAX) is True
    assert plain("a = s * 0.125", SOFTMAX, result="y, a") is False
    assert plain("a = s * 0.125", SOFTMAX, "other = s.sum(-1)") is False


def test_heads_that_are_mixed_before_the_softmax() -> None:
    mixed = "s = torch.functional.einsum('bhij,hg->bgij', q, tau)"
    assert plain("a = s * 1", SOFTMAX, first=mixed) is False
    for equation in ("bhid,bhjd->bhij", "b h i d, b h j d -> b h i j"):
        queries = f"s = torch.functional.einsum('{equation}', q, k)"
        assert plain("a = s * 1", SOFTMAX, first=queries) is True


def test_a_scale_that_is_a_tensor_is_known() -> None:
    for factor, expected in (("tau", True), ("0.125", False)):
        found = chain(
            graph("s = q @ k", f"a = s * {factor}", SOFTMAX, "y = w @ v"),
            Origin(nodes=("s",)),
            Origin(nodes=("y",)),
        )
        assert found is not None
        assert found.has_tensor_scale is expected


def test_a_graph_that_does_not_show_the_products_tells_nothing() -> None:
    assert (
        chain(graph("y = torch.sdpa(q, k, v)"), Origin(nodes=("y",)), Origin(nodes=("y",))) is None
    )
    assert plain("a = q * 2", SOFTMAX) is None


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("cpp_fused_clone_14(buf1, buf3)", True),
        ("cpp_fused__safe_softmax_native_dropout_1(buf1, buf3)", True),
        ("cpp_fused_mul_13(buf1, buf3)", False),
    ],
)
def test_without_a_traced_graph_weights_are_handed_on_as_they_are(
    between: str, expected: bool
) -> None:
    last = "extern_kernels.bmm(buf3, arg1_1, out=buf2)"
    (one,) = found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", between, last, "return (buf2, )")
    assert is_nothing_else(one) is expected


def test_scores_that_are_compared_with_their_best_are_no_plain_ones() -> None:
    for scores, expected in (("buf0", False), ("arg0_1", True)):
        (one,) = found(
            FIRST,
            f"buf4 = torch.ops.aten.topk.default({scores}, 16)",
            "buf5 = buf4[0]",
            "cpp_fused__softmax_add_12(buf0, buf5, buf1)",
            LAST,
            "return (buf2, )",
        )
        assert is_nothing_else(one) is expected
