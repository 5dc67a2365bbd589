"""A product with a sparse matrix can be written with its rows, columns and values."""

from pathlib import Path

import pytest

from tests.rules.test_break_advice import LOOP, OWN, PACKAGE, broken, ids
from tracelens import analyze

SPARSE = """Attempted to wrap sparse Tensor
  Explanation: torch.compile does not support sparse Tensors

  Developer debug context:
"""
GIVEN_UP = "Failed to handle graph break gracefully. Skipping the function.\n\n"
FIXTURES = Path(__file__).parents[2] / "fixtures/rules/GBR006-break-in-loop-skips-frame"


@pytest.mark.parametrize(
    ("file", "line", "is_product"),
    [
        (OWN, "x = torch.sparse.mm(adj, x)", True),
        (OWN, "x = self.adj @ self.layer(x)", True),
        (OWN, "x = adj.matmul(x)", True),
        (OWN, "x = self.layer(adj, x)", False),
        (OWN, "edges, value = self.adj.indices(), self.adj.values()", False),
        (PACKAGE, "x = torch.sparse.mm(adj, x)", False),
    ],
)
def test_only_a_product_is_written_anew(
    tmp_path: Path, file: str, line: str, *, is_product: bool
) -> None:
    reason = GIVEN_UP + SPARSE + LOOP.format(function="forward", file=OWN)
    found = broken(tmp_path, reason, (file, 7, "forward", line))
    assert (ids(found)[0] == "edge-list") == ("edge-list" in ids(found)) == is_product
    assert "compile-body" not in ids(found) or not is_product
    texts = [one.text for one in found.advice if one.id == "dense-parts"]
    assert any("nothing is gained" in text for text in texts) != is_product


def test_what_takes_the_matrix_apart_goes_with_the_product() -> None:
    found = analyze(str(FIXTURES / "fires-sparse-product-2.13.log")).findings
    product, parts = (one for one in found if one.code == "GBR006")
    assert [one.id for one in product.advice] == ["edge-list", "dense-parts"]
    assert "thinned" in parts.title
    assert parts.explained_by == product.id
