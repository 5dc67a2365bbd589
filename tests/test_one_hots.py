"""One-hot matrices that are multiplied, told from others that are."""

from __future__ import annotations

import pytest

from tracelens.evidence.tables import Place, Seen
from tracelens.inductor.one_hots import OneHot, one_hots
from tracelens.logs.graph_code import FxGraph, GraphCode

HEAD = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, ids: "i64[512][1]cpu", at: "i64[512, 1][1, 1]cpu", two: "i64[512, 2][2, 1]cpu", W: "f32[8192, 64][64, 1]cpu", V: "f32[64, 8200][8200, 1]cpu", B: "f32[4, 8192, 64][524288, 64, 1]cpu"):
        # File: /home/ana/proj/model.py:7 in encode, code: return encode(ids)
"""  # noqa: E501 -- a line of a log
HOT = "hot: i64[512, 8192] = torch._C._nn.one_hot(ids, 8192)"
FLOAT = "f: f32[512, 8192] = hot.float()"
ZEROS = "z: f32[512, 8192] = torch.zeros(512, 8192)"
ONES = "f: f32[512, 8192] = z.scatter_(1, at, 1)"
OUT_OF_PLACE = ONES.replace("scatter_", "scatter")
WRITTEN = "f[(slice(None, None, None), 0)] = 0;  setitem = f;  setitem = None"
JOINED = "f: f32[512, 8200] = torch.cat([{}], -1)"
PRODUCT = "y: f32[512, 64] = f @ W"
LINEAR = "y: f32[512, 64] = torch._C._nn.linear(f, V, None)"


def found(*lines: str) -> list[OneHot]:
    body = []
    for line in lines:
        if line.startswith("f["):  # it makes nothing new
            body.append(f"        {line}")
            continue
        label, _, rest = line.partition(": ")
        kind, _, code = rest.partition(" = ")
        body.append(f'        {label}: "{kind}[1]cpu" = {code}')
    text = HEAD + "\n".join([*body, "        return (y,)"]) + "\n"
    (record,) = GraphCode.parse(text)
    assert isinstance(record, FxGraph)
    assert len(record.nodes) >= sum(not line.startswith("f[") for line in lines)
    return list(one_hots(Seen(record, 1, [Place("run.log", 1)], text)))


@pytest.mark.parametrize(
    ("lines", "is_linear", "is_joined"),
    [
        ((HOT, FLOAT, PRODUCT), False, False),
        ((HOT, FLOAT, "y: f32[512, 64] = torch.matmul(f, W)"), False, False),
        ((HOT, FLOAT, "y: f32[512, 64] = f.matmul(W)"), False, False),
        ((HOT, "f: f32[512, 8192] = hot.to(torch.float32)", LINEAR), True, False),
        ((ZEROS, ONES, PRODUCT), False, False),
        ((ZEROS, ONES.replace(", 1)", ", value = 1.0)"), PRODUCT), False, False),
        ((ZEROS, OUT_OF_PLACE, PRODUCT), False, False),
        ((ZEROS, ONES.replace("f:", "g:"), PRODUCT.replace("f @", "z @")), False, False),
        ((HOT, "g: f32[512, 8192] = hot.float()", JOINED.format("g, at"), LINEAR), True, True),
        ((HOT, FLOAT, "s: f32[8192] = f.sum(0)", PRODUCT), False, False),
    ],
)
def test_a_lookup_that_is_written_as_a_product(
    lines: tuple[str, ...], is_linear: bool, is_joined: bool
) -> None:
    (one,) = found(*lines)
    assert (one.rows, one.classes, one.elements) == (512, 8192, 1 << 22)
    assert (one.is_linear, one.is_joined) == (is_linear, is_joined)
    assert one.product.label == "y"
    assert one.origin is not None
    assert one.seen.quote(at=one.line(one.product)).text.strip().startswith("y:")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((ZEROS, ONES.replace("at,", "two,"), PRODUCT), "several ones in a row"),
        ((ZEROS, ONES.replace(", 1)", ", 2)"), PRODUCT), "another number"),
        ((ZEROS, ONES.replace("(1,", "(0,"), PRODUCT), "ones in each column"),
        ((ZEROS.replace("zeros", "ones"), ONES, PRODUCT), "no zeros"),
        (
            (
                ZEROS,
                ONES,
                "g: f32[512, 8192] = z.scatter_(1, at, 1)",
                PRODUCT.replace("f @", "z @"),
            ),
            "ones that are written twice",
        ),
        ((HOT, "f: f32[512, 8192] = hot * 0.9", PRODUCT), "smoothed"),
        ((HOT, FLOAT, "g: f32[512, 8192] = f.mul_(0.9)", PRODUCT), "smoothed in place"),
        ((HOT, FLOAT, "g: f32[512, 8192] = torch.relu_(f)", PRODUCT), "changed by a function"),
        ((HOT, FLOAT, WRITTEN, PRODUCT), "a column that is written"),
        ((ZEROS, ONES, WRITTEN, PRODUCT), "a column that is written behind the ones"),
        ((ZEROS, "g: f32[512, 8192] = z.fill_(0.1)", ONES, PRODUCT), "no zeros any more"),
        ((ZEROS, "g: f32[512, 8192] = z.fill_(0.1)", OUT_OF_PLACE, PRODUCT), "no zeros, either"),
        ((HOT, "f: f32[8192, 512] = hot.t()", PRODUCT), "sums by class"),
        ((HOT, FLOAT, "y: f32[4, 512, 64] = f @ B"), "a factor for each of a batch"),
        ((HOT, FLOAT, "y: f32[512, 64] = W @ f"), "the second factor"),
        ((HOT, "f: f32[512, 2] = hot.view(512, 2)", PRODUCT), "another last dimension"),
        ((HOT, FLOAT, "y: f32[512] = f.sum(1)"), "no product"),
        ((HOT, "f: f32[1024, 8192] = torch.cat([hot, hot], 0)", PRODUCT), "rows that are joined"),
    ],
)
def test_what_only_looks_like_it(lines: tuple[str, ...], why: str) -> None:
    assert found(*lines) == [], why
