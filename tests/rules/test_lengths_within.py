"""Lengths within one container are one thing to change; items that no operator takes may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

LOG = Path(__file__).parents[2] / "fixtures/rules/RCP017-container-length/fires-words.log"


@pytest.mark.parametrize(
    ("was", "comes", "told"),
    [
        ("", "", True),
        (" == 'one'", " == 1", False),  # a number, which an operator may take
        ("lambda value: value, kwargs)", 'lambda value: value, kwargs["words"])', False),
        ("___check_type_id(L['kwargs'],", "___dict_contains('words', L['kwargs'])  # (", False),
        ("in forward", "in encode", True),
        ("function forward in", "function encode in", False),  # a function has no hooks
    ],
)
def test_what_nothing_reads_is_left_out(was: str, comes: str, told: bool, tmp_path: Path) -> None:
    text = LOG.read_text()
    assert was in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(was, comes) if was else text)
    found = [one for one in analyze(log).findings if one.code == "RCP017"]
    assert len(found) == 1
    assert ("leave-texts" in {one.id for one in found[0].advice}) is told
    assert "stack" not in {one.id for one in found[0].advice} or not told


def test_lengths_of_two_containers_are_told_apart(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOG.read_text().replace("['words'][0]", "['tags'][0]"))
    found = [one.data["source"] for one in analyze(log).findings if one.code == "RCP017"]
    assert sorted(found) == ["kwargs['tags'][0]", "kwargs['words']"]


PROMPTS = LOG.with_name("fires-prompts.log")


def test_a_prompt_after_tokens_with_a_state_is_told_by_its_length() -> None:
    (found,) = (one for one in analyze(PROMPTS).findings if one.code == "RCP017")
    assert found.data["values"] == ["4", "7"]
    assert [one.id for one in found.advice] == ["call-uncompiled"]


def _recompile(entry: int, *failed: str) -> str:
    head = "V1127 08:29:38.590000 2464 torch/_dynamo/guards.py:5396] "
    lines = ["Recompiling function step in /home/ana/proj/model.py:41"]
    lines += [
        "    triggered by the following guard failure(s):",
        *(f"    - {one}" for one in failed),
    ]
    return "".join(f"{head}[0/{entry}] [__recompiles] {line}\n" for line in lines)


def test_a_length_that_another_entry_has_is_no_news(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    of_class = "___check_type_id(state, 94716), type=<class 'dict'>"
    log.write_text(
        _recompile(1, "0/0: len(xs) == 2")
        + _recompile(2, f"0/1: {of_class}", "0/0: len(xs) == 2")
        + _recompile(3, f"0/2: {of_class}", f"0/1: {of_class}", "0/0: len(xs) == 2")
    )
    values = [one.data["recompiles"] for one in analyze(log).findings if one.code == "RCP017"]
    assert values == [1]
