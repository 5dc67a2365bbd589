"""What is drawn of a report is clean; it is what is stored where nothing is to be cleaned."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelens.render import Options
from tracelens.render._prepare import prepare
from tracelens.render._strings import clean
from tracelens.render.text import Text
from tracelens.report.joining import joined

#: Characters that are cleaned away, those that look like their escapes, and others.
PIECES = [
    "\x1b[31m",
    "\x1b",
    "\x00",
    "\x7f",
    "\x85",
    "\u2028",
    "\u202e",
    "\ufeff",
    "\t",
    "\r\n",
    "\r",
]
PIECES += ["\\", "\\t", "\\n", "\\u001b", '"', "/", "\n", "a", "é", "中", "\u00a0"]


def drawn_of(text: str) -> tuple[str, bool]:
    """Return what is drawn of a text, and whether the report that is stored is drawn."""
    report = joined([], []).model_copy(update={"tables": {"t": [{"text": text}]}})
    stored, drawn, _ = prepare(report, Options(redact=False), Text)
    return drawn.tables["t"][0]["text"], stored is drawn


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(max_size=20))
@settings(max_examples=200, deadline=None)
def test_what_is_drawn_is_clean(text: str) -> None:
    assert drawn_of(text)[0] == clean(text)


@pytest.mark.parametrize(
    ("text", "is_stored"),
    [("two\nlines", True), ('a "quoted" one', True), ("back\\slash s", True), ("a\tb", False)],
)
def test_a_clean_report_is_drawn_as_it_is_stored(text: str, *, is_stored: bool) -> None:
    assert drawn_of(text) == (clean(text), is_stored)
