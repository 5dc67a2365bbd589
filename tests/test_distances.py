"""Distances of all pairs, told from what only looks like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
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


def test_what_the_advice_does_not_give_is_left_alone() -> None:
    """A product wants operands of one dtype, and its result has no dimension of 1 at the end."""
    double = [line.replace("f32", "f64") for line in (SUB, SQUARE, SUM, A, B)]
    assert found(*double[:3], a=double[3], b=double[4])
    assert found(*double[:3], a=A, b=double[4]) == []
    kept = typed("d", "q.sum(-1, keepdim = True)", "f32[64, 48, 1][1]cpu")
    assert found(SUB, SQUARE, kept) == []


HOME = Path(__file__).parents[1] / "fixtures" / "rules" / "IND027-pairwise-distances"


@pytest.mark.parametrize(
    ("columns", "is_told"), [(512, True), (256, True), (255, False), (1, False)]
)
def test_few_columns_are_no_matter_for_a_product(
    columns: int, is_told: bool, tmp_path: Path
) -> None:
    text = (HOME / "fires-norm.log").read_text().replace("2048", "65536")
    (tmp_path / "run.log").write_text(text.replace("512", str(columns)))
    assert any(one.code == "IND027" for one in analyze(str(tmp_path)).findings) is is_told


@pytest.mark.parametrize(("rows", "is_said"), [("1024", False), ("1023", True)])
def test_squares_of_few_points_are_to_be_measured_in_training(
    rows: str, is_said: bool, tmp_path: Path
) -> None:
    text = (HOME / "fires-squares.log").read_text().replace("2048", rows)
    (tmp_path / "run.log").write_text(text)
    (found,) = (one for one in analyze(str(tmp_path)).findings if one.code == "IND027")
    assert ("In training" in found.advice[0].text) is is_said
