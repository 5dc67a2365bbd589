"""Words that a phrase needs: whatever a phrase fits holds one of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelens.failures import causes
from tracelens.failures.causes import hits, squeeze
from tracelens.failures.needed import needed, words, written
from tracelens.failures.phrases import PHRASES

ROOT = Path(__file__).parents[2]


def test_they_are_written_down_as_the_phrases_have_them() -> None:
    file = ROOT / "tracelens" / "failures" / "needed.txt"
    assert file.read_text(encoding="utf-8") == written(), "bash .ci/regenerate"
    assert needed() == [words(phrase.pattern) for phrase in PHRASES]
    assert sum(map(bool, needed())) > 0.9 * len(PHRASES)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("this way|another", ("another", "this way")),
        ("a short one|another", (" short one", "nother")),  # Python takes the "a" out
        ("begins.{0,9}goes on longer", ("goes on longer",)),
        ("(?P<name>in a group)x?", ("in a group",)),
        (r"(?:one of|two of)\d", ("one of", "two of")),
        ("(?:twice ){2,}a", ("twice ",)),
        ("(?:perhaps)?sure", ("sure",)),
        ("(?:perhaps)?", ()),
        ("abc", ()),  # it is in most texts
        ("long enough|no", ()),
        ("(?i)either case", ()),
        ("(?i:either) case", (" case",)),
        (r"\w+\.\d", ()),
    ],
)
def test_words_of_a_pattern(pattern: str, expected: tuple[str, ...]) -> None:
    assert words(pattern) == expected


@given(st.sampled_from(range(len(PHRASES))), st.data())
@settings(max_examples=300, deadline=None)
def test_what_a_phrase_fits_holds_one(index: int, data: st.DataObject) -> None:
    pattern = re.compile(PHRASES[index].pattern)
    text = data.draw(st.from_regex(pattern, alphabet=st.characters(codec="ascii")))
    found = needed()[index]
    assert not found or any(word in text for word in found)


def test_the_causes_are_the_same_as_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        squeeze(file.read_text(errors="replace").splitlines()[:400])[0]
        for file in sorted((ROOT / "fixtures").glob("rules/ERR*/*.log"))
    ]
    told = [list(causes._hits(text)) for text in texts]
    assert sum(map(bool, told)) > 50
    every = [(one.cause, (), one.pattern) for one in PHRASES]
    monkeypatch.setattr(causes, "_needed", lambda: every)
    assert [list(causes._hits(text)) for text in texts] == told
    hits.cache_clear()
