"""How long something took: many at once, as one by one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tracelens.evidence import Times

texts = st.one_of(
    st.integers(0, 10**7).map(lambda steps: f"{steps / 4096:.6g}"),
    st.integers(0, 10**12).map(lambda steps: f"{steps / 1e6:.9f}"),
    st.floats(0, 1e7).map(lambda ms: f"{ms:.3f}"),
    st.sampled_from(
        ["0", "1", "2", "0.5", "5.", "00.5", "0.000244141", "1.09051", "1.0905", "123456.7891"]
    ),
).filter(lambda text: "e" not in text)


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=60), st.lists(texts, max_size=5))
def test_texts_added_at_once_are_those_added_one_by_one(many: list[str], before: list[str]) -> None:
    fast, slow = Times(), Times()
    for text in before:
        fast.add(float(text))
        slow.add(float(text))
    fast.add_texts([f"{text}\n".encode() for text in many])
    for text in many:
        slow.add(float(text))
    for name in ("n", "first", "min", "max", "total", "median", "buckets"):
        assert getattr(fast, name) == getattr(slow, name), name
