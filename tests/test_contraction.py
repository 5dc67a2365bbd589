"""A softmax is attention's where it normalizes the dimension that the second product sums over."""

from __future__ import annotations

import pytest

from tests.test_attention import FIRST, LAST, found

#: A kernel that leaves a value per row, and the weights.
SOFTMAX = "cpp_fused__safe_softmax_6(buf0, buf6, buf1)"
KEYS = "buf6 = empty_strided_cpu((8, 64, 1), (64, 1, 512), torch.float32)"
QUERIES = "buf6 = empty_strided_cpu((8, 1, 64), (64, 512, 1), torch.float32)"
ROW_SUM = LAST.replace("buf1", "reinterpret_tensor(buf1, (8, 64, 64), (4096, 64, 1), 0)")
COLUMN_SUM = LAST.replace("buf1", "reinterpret_tensor(buf1, (8, 64, 64), (4096, 1, 64), 0)")
#: The weights as the second factor: what is summed over is their first dimension of a matrix.
VALUES_FIRST = "extern_kernels.bmm(arg1_1, reinterpret_tensor(buf1, (8, 64, 64), {}, 0), out=buf2)"


@pytest.mark.parametrize(
    ("rows", "last", "attends"),
    [
        (KEYS, LAST, True),
        (KEYS, ROW_SUM, True),
        (KEYS, COLUMN_SUM, False),
        (KEYS, VALUES_FIRST.format("(4096, 1, 64)"), True),
        (KEYS, VALUES_FIRST.format("(4096, 64, 1)"), False),
        (QUERIES, LAST, False),  # slots compete for inputs
        (QUERIES, ROW_SUM, False),
        (QUERIES, COLUMN_SUM, True),  # keys times queries, as convolutional networks write it
    ],
)
def test_strides_tell_the_dimensions_of_square_scores(rows: str, last: str, attends: bool) -> None:
    attentions = found(FIRST, rows, SOFTMAX, last, "return (buf2, )")
    assert [one.is_certain for one in attentions] == [True] * attends


def test_sizes_tell_the_dimensions_of_folded_scores() -> None:
    """Regions compete for the pixels of an image, and are summed over them."""
    lines = (
        "buf7 = reinterpret_tensor(buf5, (8, 16, 16, 16), (4096, 256, 16, 1), 0)  # reuse",
        "{}",
        "cpp_fused__safe_softmax_6(buf0, buf6, buf7)",
        LAST.replace("buf1", "reinterpret_tensor(buf7, (8, 16, 256), (4096, 256, 1), 0)"),
        "return (buf2, )",
    )
    region = "buf6 = empty_strided_cpu((8, 1, 16, 16), (256, 2048, 16, 1), torch.float32)"
    assert found(FIRST, *(line.format(region) for line in lines)) == []


def test_who_sees_no_dimension_is_not_certain() -> None:
    (one,) = found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    assert not one.is_certain


def test_a_product_of_something_else_that_the_kernel_writes_is_not_the_second_one() -> None:
    """The kernel of the softmax may copy another layer's weights on its way."""
    copied = "buf6 = empty_strided_cpu((8, 8, 64), (512, 64, 1), torch.float32)"
    product = "extern_kernels.bmm(arg1_1, buf6, out=buf2)"
    assert found(FIRST, copied, SOFTMAX, product, "return (buf2, buf1, )") == []


@pytest.mark.parametrize(("size", "attends"), [(64, True), (32, False)])
def test_values_of_another_size_than_queries_have_no_fused_kernel(size: int, attends: bool) -> None:
    queries = f"reinterpret_tensor(arg0_1, (8, 64, {size}), ({64 * size}, {size}, 1), 0)"
    first = f"extern_kernels.bmm({queries}, arg1_1, out=buf0)"
    softmax = "cpp_fused__softmax_mul_0(buf0, buf1)"
    assert bool(found(first, softmax, LAST, "return (buf2, )")) is attends
    taken_apart = found(first, KEYS, SOFTMAX, LAST, "return (buf2, )")
    assert taken_apart[0].is_decomposed


@pytest.mark.parametrize(
    ("product", "attends"),
    [
        ("extern_kernels.baddbmm({w}, {w}, arg1_1, alpha=1, beta=1, out=buf2)", True),
        ("extern_kernels.baddbmm({w}, arg1_1, {w}, alpha=1, beta=1, out=buf2)", False),
        ("extern_kernels.baddbmm(arg0_1, {w}, arg1_1, alpha=1, beta=1, out=buf2)", True),
        ("extern_kernels.baddbmm(arg1_1, arg1_1, {w}, alpha=1, beta=1, out=buf2)", False),
        ("extern_kernels.bmm({w}, {w}, out=buf2)", True),
    ],
)
def test_the_added_operand_may_be_a_factor_too(product: str, *, attends: bool) -> None:
    """Rows that sum to one are attention's where the product sums over what it reads of a row."""
    rows = "reinterpret_tensor(buf1, (8, 64, 64), (4096, 64, 1), 0)"
    attentions = found(FIRST, KEYS, SOFTMAX, product.format(w=rows), "return (buf2, )")
    assert bool(attentions) is attends
