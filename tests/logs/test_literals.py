"""What Python printed as literals."""

from __future__ import annotations

import warnings

import pytest

from tracelens.logs._literals import evaluated


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'graph_break'", "graph_break"),
        (r'"it\'s"', "it's"),
        ("12", "12"),
        ("open()", "open()"),
        ("'cut", "'cut"),
        ("", ""),
    ],
)
def test_the_text_of_a_literal(text: str, value: str) -> None:
    assert evaluated(text) == value


def test_python_does_not_warn_of_what_a_log_quotes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluated(r"'a \d pattern'") == r"a \d pattern"
