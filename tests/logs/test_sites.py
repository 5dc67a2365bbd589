"""Sites of records that are read with another id, against what the grammar alone reads."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tracelens.logs.torch_log import read_plainly, read_site

PARTS = st.sampled_from(
    [
        "torch/_dynamo/guards.py:4483]",
        "torch/_dynamo/guards.py]",
        "C:\\torch\\x.py:1]",
        "train.py:7]",
        " [0/0]",
        " [12/3]",
        " [12/3_1]",
        " [007/1]",
        " [!0/1/0]",
        " [-/3]",
        " [٣/1]",
        "[1/0]",
        "[1/0] ",
        " [__guards]",
        " [__output_code]",
        " [x]",
        "torch._dynamo: [DEBUG]",
        "torch._dynamo.__guards: [DEBUG]",
        "torchdynamo.x: [INFO]",
        " ",
        "]",
    ]
)


@given(st.lists(PARTS, min_size=1, max_size=5).map("".join))
@example("torch/_dynamo/guards.py:4483] [3/1_2] [__guards]")
@example("torch/_dynamo/guards.py:4483] [3/1] [4/1]")
@example("x] [3/1]")
def test_a_site_is_what_the_grammar_says(text: str) -> None:
    found, plain = read_site(text), read_plainly(text)
    assert found == plain
    assert found.model_fields_set == plain.model_fields_set
    assert (found.frame, found.label, found.is_torch) == (plain.frame, plain.label, plain.is_torch)


def test_a_place_is_read_once() -> None:
    read_site.cache_clear()
    read_plainly.cache_clear()
    ids = [read_site(f"torch/_dynamo/guards.py:1] [{n}/0] [__guards]").id for n in range(100)]
    assert ids == [f"{n}/0" for n in range(100)]
    assert read_plainly.cache_info().misses == 1
