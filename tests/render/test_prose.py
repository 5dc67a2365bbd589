"""Who is called like a word of ours is hidden in paths, and our sentences stay whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.render._again import program
from tracelens.render._prose import _FILE, is_ours, written
from tracelens.render._redact import Redactor
from tracelens.report import Report

ROOT = Path(__file__).parents[2]


def test_the_words_are_written_down() -> None:
    assert _FILE.read_text(encoding="ascii") == written(), "bash .ci/regenerate"


@pytest.mark.parametrize("word", ["held", "mark", "padded", "specializes", "Compile"])
def test_words_of_ours(word: str) -> None:
    assert is_ours(word)


@pytest.mark.parametrize("word", ["ana", "tobias", "li", "", "held\nmark", "eld"])
def test_others(word: str) -> None:
    assert not is_ours(word)


@pytest.mark.parametrize(("name", "stays"), [("held", True), ("tobias", False)])
def test_a_name_alone(name: str, stays: bool) -> None:
    redactor = Redactor()
    texts = [f"/home/{name}/proj/model.py:3", f"it is {name} static", f'getattr({name}, "x")']
    for text in texts:
        redactor.learn(text)
    redactor.ready()
    where, said, code = map(redactor, texts)
    assert name not in where
    assert (said == texts[1], code == texts[2]) == (stays, stays)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/data/user1/b/app.py", "python app.py"),
        ("~user2/b/app.py", "python your_program.py"),
        ("~/b/app.py", "python ~/b/app.py"),
        ("/srv/superuser1/app.py", "python /srv/superuser1/app.py"),
    ],
)
def test_a_hidden_folder_is_in_no_command(
    file: str, expected: str, reports: dict[str, Report]
) -> None:
    one = reports["one"]
    stack = [{"file": file, "function": "<module>", "line": 3, "code": "run()"}]
    found = one.findings[0].model_copy(update={"data": {"stack": stack}})
    assert program(one.model_copy(update={"findings": (found,)})) == expected
