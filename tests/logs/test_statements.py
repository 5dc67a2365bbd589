"""Statements that are read by their shape, against what the grammar alone reads."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.logs.test_modules import modules
from tracelens.logs import _generated
from tracelens.logs._generated import read_plainly, statement

NUMBERS = st.one_of(
    st.sampled_from(["0", "1", "7", "16", "032", "00", "1.5", "1e5", "2.0e-07", "-3", "٣"]),
    st.sampled_from(["941700003", "9417000013", "123456789", "1234567890", "12345678901234567"]),
)
FORMS = st.sampled_from(
    [
        "buf{} = empty_strided_cpu(({}, {}), ({}, 1), torch.float32)",
        "buf{} = empty_strided_cpu(({}, s{}), ({}*s{}, 1), torch.float{})",
        "arg{}_1 = rand_strided(({}, ), ({}, ), device='cuda:{}', dtype=torch.int64)",
        "assert_size_stride(buf{}, ({}, {}), ({}, {}), 'torch.ops.mkldnn.x{}')",
        "assert_size_stride_grouped((buf{}, buf{}), (({}, ), ({}, 8)), (({}, ), ({}, 1)), 'input')",
        "buf{} = buf{}; del buf{}  # reuse",
        "buf{} = buf{}[{}]",
        "buf{} = reinterpret_tensor(buf{}, ({}, {}), ({}, 1), {}); del buf{}  # reuse",
        "buf{} = reinterpret_tensor(buf{}, ({}, 2 + s{}), ({} + 2*s{}, {}), -{})  # alias",
        "buf{} = alloc_from_pool(pool{}, {}, torch.float32, ({}, ), (1, ))",
        "extern_kernels.mm(buf{}, reinterpret_tensor(p_{}, ({}, 16), (1, {}), {}), out=buf{})",
        "buf{} = torch.ops.mkl._mkl_linear.default(arg{}_1, None, {}, 'relu{}', [-{}], {})",
        "cpp_fused_add_{}(c_void_p(buf{}.data_ptr()), arg{}_1, s{}, {})",
        "triton_poi_{}.run(buf{}, {}, grid=grid({}), stream=stream{})",
        "_frozen_param{} = None  # device(type='cpu') torch.float32 ({},) (1,) 7f548b1bd{}",
        "_frozen_param{} = None  # device(type='cpu') torch.float32 ({},) (1,) {}",
        "s{} = {}",
        "ps{} = {}*s{}",
        "return (buf{}, primals_{}, reinterpret_tensor(buf{}, ({}, ), (1, ), 0), s{}, )",
        "arg{}_1, arg{}_1 = args",
        "del buf{}",
        "def partition_{}(args):",
        "something({} else {}",
        "foo.bar(x={}, y=[{}, {{1}}])",
    ]
)


@st.composite
def kin(draw: st.DrawFn) -> list[str]:
    """Draw some statements of one form."""
    form = draw(FORMS)
    holes = form.count("{}")
    lists = draw(
        st.lists(st.lists(NUMBERS, min_size=holes, max_size=holes), min_size=3, max_size=5)
    )
    return [form.format(*numbers) for numbers in lists]


@given(kin())
@example(["buf1 = buf2[941700003]", "buf1 = buf2[9417000003]", "buf1 = buf2[9417000013]"])
@example(["s0 = 1", "s0 = 2", "s0 = 003"])
def test_the_shape_says_what_the_grammar_says(texts: list[str]) -> None:
    _generated._shape.cache_clear()
    statement.cache_clear()
    for text in [*texts, *texts[::-1]]:
        found, plain = statement(text), read_plainly(text)
        assert type(found) is type(plain)
        assert found == plain
        assert list(found.__dict__) == list(plain.__dict__)
        assert found.model_fields_set == plain.model_fields_set


def test_recorded_statements_are_read_alike() -> None:
    lines = {line.strip() for text in modules() for line in text.split("\n") if line.strip()}
    assert len(lines) > 1_000
    for line in sorted(lines):
        assert statement(line) == read_plainly(line)


def test_the_third_of_a_shape_asks_the_grammar_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    _generated._shape.cache_clear()
    statement.cache_clear()
    for number in (1, 2):
        statement(f"buf{number} = empty_strided_cpu(({number}, 8), (8, 1), torch.float32)")
    asked: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(_generated, "read_plainly", asked.append)
        found = statement("buf77 = empty_strided_cpu((31, 8), (8, 1), torch.float32)")
    assert asked == []
    assert found == read_plainly("buf77 = empty_strided_cpu((31, 8), (8, 1), torch.float32)")
