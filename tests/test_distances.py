"""Distances of all pairs, told from what only looks like them."""

from __future__ import annotations

import pytest

from tracelens.evidence.tables import Place, Seen
from tracelens.inductor.distances import Distances, distances
from tracelens.logs.graph_code import FxGraph, GraphCode

HEAD = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, a: "{a}", b: "{b}"):
"""
A, B = "f32[64, 1, 32][1]cpu", "f32[1, 48, 32][1]cpu"
WHOLE, PAIRS = "f32[64, 48, 32][1]cpu", "f32[64, 48][1]cpu"


def found(*lines: str, a: str = A, b: str = B, returned: str = "d") -> list[Distances]:
    body = [f"        {line}" for line in (*lines, f"return ({returned},)")]
    text = HEAD.format(a=a, b=b) + "\n".join(body) + "\n"
    (record,) = GraphCode.parse(text)
    assert isinstance(record, FxGraph)
    assert len(record.nodes) == len(lines)
    return list(distances(Seen(record, 1, [Place("run.log", 1)], text)))


def typed(label: str, code: str, kind: str = WHOLE) -> str:
    return f'{label}: "{kind}" = {code}'


SUB, SQUARE = typed("s", "a - b"), typed("q", "s ** 2")
SUM = typed("d", "q.sum(-1)", PAIRS)


@pytest.mark.parametrize("square", ["s ** 2", "s * s", "s.pow(2)", "torch.square(s)", "s.square()"])
@pytest.mark.parametrize("total", ["q.sum(-1)", "q.sum(dim = 2)", "torch.sum(q, dim = -1)"])
def test_squares_are_written_in_many_ways(square: str, total: str) -> None:
    (one,) = found(SUB, typed("q", square), typed("d", total, PAIRS))
    assert (one.size, one.elements) == ((64, 48, 32), 64 * 48 * 32)
    assert (one.is_root, one.is_mean, one.is_scaled) == (False, False, False)
    assert one.seen.quote(at=one.line(one.difference)).text.strip() == SUB
    assert one.seen.quote(at=one.line(one.total)).text.strip().startswith("d: ")


@pytest.mark.parametrize(
    "norm",
    [
        "torch.norm(s, dim = -1)",
        "s.norm(dim = -1)",
        "s.norm(2, -1)",
        "torch.linalg.norm(s, dim = -1)",
        "torch.linalg.vector_norm(s, ord = 2, dim = -1)",
    ],
)
def test_a_euclidean_norm_is_a_distance(norm: str) -> None:
    (one,) = found(SUB, typed("d", norm, PAIRS))
    assert one.is_root


@pytest.mark.parametrize(
    "norm",
    ["s.norm(1, -1)", "torch.norm(s, p = 1, dim = -1)", "torch.linalg.norm(s, 3, dim = -1)"],
)
def test_another_norm_is_none(norm: str) -> None:
    assert found(SUB, typed("d", norm, PAIRS)) == []


def test_roots_means_and_scales_are_seen() -> None:
    assert found(SUB, SQUARE, SUM, typed("r", "d.sqrt()", PAIRS), returned="r")[0].is_root
    assert found(SUB, SQUARE, SUM, typed("r", "d ** 0.5", PAIRS), returned="r")[0].is_root
    assert found(SUB, SQUARE, typed("d", "q.mean(-1)", PAIRS))[0].is_mean
    scaled = typed("t", "s / 1.5"), typed("q", "t ** 2"), SUM
    assert found(SUB, *scaled)[0].is_scaled


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("f32[64, 48, 32][1]cpu", B),  # each pair has a difference of its own already
        ("f32[64, 1, 1][1]cpu", B),  # a number for each row
        ("f32[64, 1, 32][1]cpu", "f32[1, 1, 32][1]cpu"),
        ("f32[s0, 1, 32][1]cpu", B),
    ],
)
def test_other_broadcasts_are_none(a: str, b: str) -> None:
    assert found(SUB, SQUARE, SUM, a=a, b=b) == []
    assert found(SUB, SQUARE, SUM)


def test_what_a_product_cannot_replace_is_left_alone() -> None:
    assert found(SUB, SQUARE, SUM, returned="d, s") == []
    assert found(SUB, SQUARE, SUM, typed("m", "s.amax(-1)", PAIRS), returned="d, m") == []
    assert found(SUB, typed("q", "s.abs()"), SUM) == []
    assert found(SUB, typed("q", "s ** 3"), SUM) == []
    assert found(SUB, SQUARE, typed("d", "q.sum(1)", "f32[64, 32][1]cpu")) == []
    short = [line.replace("f32", "bf16") for line in (SUB, SQUARE, SUM, A, B)]
    assert found(*short[:3], a=short[3], b=short[4]) == []
    cuda = [line.replace("cpu", "cuda:0") for line in (SUB, SQUARE, SUM, A, B)]
    assert found(*cuda[:3], a=cuda[3], b=cuda[4]) == []


def test_a_cube_is_summed_over_its_last_dimension_only() -> None:
    a, b, whole = "f32[32, 1, 32][1]cpu", "f32[1, 32, 32][1]cpu", "f32[32, 32, 32][1]cpu"
    lines = typed("s", "a - b", whole), typed("q", "s ** 2", whole)
    assert found(*lines, typed("d", "q.sum(-1)", "f32[32, 32][1]cpu"), a=a, b=b)
    assert found(*lines, typed("d", "q.sum(0)", "f32[32, 32][1]cpu"), a=a, b=b) == []
