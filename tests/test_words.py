"""Numbers in words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens import words


@pytest.mark.parametrize(
    ("share", "sentence", "table"),
    [
        (0.0, "0 %", "0 %"),
        (0.00004, "less than 0.1 %", "< 0.01 %"),
        (0.0005, "less than 0.1 %", "0.05 %"),
        (0.001, "0.1 %", "0.1 %"),
        (0.064, "6.4 %", "6.4 %"),
        (0.0994, "9.9 %", "9.9 %"),
        (0.0996, "10 %", "10.0 %"),
        (0.755, "76 %", "75.5 %"),
        (0.9996, "99 %", "99.9 %"),
        (1.0, "100 %", "100 %"),
        (1.5, "150 %", "150 %"),
    ],
)
def test_a_share(share: float, sentence: str, table: str) -> None:
    assert words.percent(share) == sentence
    assert words.exact_percent(share) == table.replace(".0 %", " %")


@given(st.floats(0, 1, exclude_max=True))
def test_less_than_all_is_never_all(share: float) -> None:
    assert not words.percent(share).startswith("100")
    assert not words.exact_percent(share).startswith("100")


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "0 ms"),
        (0.0996, "99.6 us"),
        (0.1, "0.1 ms"),
        (999.4, "999 ms"),
        (1000, "1 s"),
        (52_700, "52.7 s"),
        (119_999, "120 s"),
        (120_000, "2 min"),
        (math.inf, "?"),
    ],
)
def test_a_time(ms: float, told: str) -> None:
    assert words.length(ms) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        ((1 << 20) - 1, "1.02e+03 KiB"),
        (1 << 20, "1 MiB"),
        (3 << 29, "1.5 GiB"),
    ],
)
def test_a_size(count: int, told: str) -> None:
    assert words.size(count) == told.replace("1.02e+03", "1,024")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a"], "`a`"),
        (["a", "b"], "`a`, `b`"),
        (["a", "b", "c"], "`a`, `b` and 1 more"),
    ],
)
def test_a_list(names: list[str], told: str) -> None:
    assert words.listed(names, 2) == told


def test_counts() -> None:
    assert words.plural(1, "line") == "1 line"
    assert words.plural(12_431, "line") == "12,431 lines"
    assert words.plural(2, "entry", "entries") == "2 entries"
    assert words.number(1234.0) == "1,234"
    assert words.number(0.01234) == "0.0123"
    assert words.number(math.nan) == "?"


@pytest.mark.parametrize(
    ("count", "told"), [(3, ""), (4, " and 1 more"), (1004, " and 1,001 more")]
)
def test_how_many_more(count: int, told: str) -> None:
    assert words.and_more(count, 3) == told


def test_a_few_are_three_at_most() -> None:
    assert words.few(range(2)) == [0, 1]
    assert words.few(range(9)) == [0, 1, 2]


def test_a_first_line_is_no_longer_than_a_title() -> None:
    assert words.first_line("short\nand more") == "short"
    assert words.first_line("x" * 160 + "\nno") == "x" * 160
    assert words.first_line("x" * 161) == "x" * 156 + " ..."
    assert words.first_line("word " * 40) == " ".join(["word"] * 31) + " ..."


@pytest.mark.parametrize(("whole", "share"), [(8, 0.25), (0.5, 4), (0, 0), (-1, 0)])
def test_a_share_of_nothing_is_none(whole: float, share: float) -> None:
    assert words.share_of(2, whole) == share


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("`__import_torch_dot_distributions_dot_kl._KL`", "`torch.distributions.kl._KL`"),
        ("on `G['__import_torch_dot_nn_dot__modules']`", "on `torch.nn._modules`"),
        ("`len(__import_einops._tables) == 0`", "`len(einops._tables) == 0`"),
        ("`G['modules'].x` and `my__import_a_dot_b`", "`G['modules'].x` and `my__import_a_dot_b`"),
        ("`a_dot_b` in `dot_net`", "`a_dot_b` in `dot_net`"),
    ],
)
def test_modules_are_called_by_their_names(text: str, plain: str) -> None:
    assert words.plain_names(text) == plain
