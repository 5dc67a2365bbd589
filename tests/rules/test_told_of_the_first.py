"""What a finding tells is of what it names: values, wrappers, objects, layouts within a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
PACKAGE = "/home/ana/venv/lib/python3.11/site-packages/oddlib/wrap.py"
OWN = "/home/ana/proj/net.py"


def log(*entries: tuple[str, str, str, int, str]) -> str:
    """Return recompiles: each a function, its file, a frame, an entry and its guard."""
    text = ""
    for second, (function, file, frame, number, guard) in enumerate(entries, 10):
        head = (
            f"V1120 12:06:{second:02}.834000 77 torch/_dynamo/guards.py:4483] "
            f"[{frame}/{number}] [__recompiles] "
        )
        text += f"{head}Recompiling function {function} in {file}:14\n"
        text += f"{head}    triggered by the following guard failure(s):\n"
        text += f"{head}    - {frame}/{number - 1}: {guard}\n"
    return text


def findings(folder: Path, code: str, text: str) -> list[Finding]:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    return [one for one in analyze(path).findings if one.code == code]


def test_the_values_are_those_of_the_value_that_is_named(tmp_path: Path) -> None:
    """Another function, recompiled right after it, has a guard of its own."""
    text = log(
        ("first", OWN, "0", 1, "a == 1.25"),
        ("second", OWN, "1", 1, "b == 7.5"),
        ("first", OWN, "0", 2, "a == 2.25"),
        ("second", OWN, "1", 2, "b == 8.5"),
        ("first", OWN, "0", 3, "a == 3.25"),
        ("second", OWN, "1", 3, "b == 9.5"),
    )
    found = findings(tmp_path, "RCP005", text)
    assert found
    for one in found:
        named = one.title.split("`")[3]
        values = [float(value) for value in one.data["values"]]
        assert all((value < 7) is (named == "a") for value in values), one.message


def test_a_first_change_tells_what_the_first_value_was(tmp_path: Path) -> None:
    text = log(
        ("index", OWN, "0", 1, "n == 0"),
        ("total", OWN, "1", 1, "tensor 'x' size mismatch at index 0. expected 108, actual 32"),
    )
    (one, *_) = findings(tmp_path, "RCP003", text)
    assert "108" not in one.message.partition("and `index`")[0]


@pytest.mark.parametrize(("lengths", "advice"), [((1, 2), "one-form"), ((1, 0, 2, 3), "")])
def test_a_wrapper_of_a_package_is_called_in_many_forms_for_many_functions(
    tmp_path: Path, lengths: tuple[int, ...], advice: str
) -> None:
    text = log(
        *(
            ("wrapped_func", PACKAGE, "0", number, f"len(args) == {length}")
            for number, length in enumerate(lengths[:-1], 1)
        )
    )
    (one,) = findings(tmp_path, "RCP017", text)
    assert ("one-form" in [each.id for each in one.advice]) is bool(advice)
    said = one.message + "".join(each.text for each in one.advice)
    assert ("seems to wrap several functions" in said) is not bool(advice)


HINT = "  (HINT: torch.compile considers integer attributes of the nn.Module to be static.)"


@pytest.mark.parametrize(
    ("source", "hint", "is_object"),
    [("tree.left.word", "", True), ("tree.left.word", HINT, False), ("self.word", "", False)],
)
def test_an_integer_of_an_object_is_not_taken_for_that_of_a_module(
    tmp_path: Path, source: str, hint: str, is_object: bool
) -> None:
    """A node of a tree is no module: the setting for those of modules changes nothing."""
    (one,) = findings(tmp_path, "RCP007", log(("f", OWN, "0", 1, f"{source} == 66{hint}")))
    assert ("those of another object become symbols" in one.message) is is_object
    assert ("unspec-int" not in [each.id for each in one.advice]) is is_object


@pytest.mark.parametrize(
    ("guard", "is_symbol"),
    [
        ("TYPE_MATCH: ___check_type_id(L['tree'].left.word, 5), type=<class 'int'>", True),
        ("EQUALS_MATCH: L['tree'].left.word == 67", False),
    ],
)
def test_a_symbol_is_one_by_the_guards_of_the_new_entry(
    tmp_path: Path, guard: str, is_symbol: bool
) -> None:
    head = "V1120 12:06:11.834000 77 torch/_dynamo/guards.py:4483] [0/1] [__guards] "
    text = log(("f", OWN, "0", 1, "tree.left.word == 66"))
    text += f"{head}TREE_GUARD_MANAGER:\n{head}+- RootGuardManager\n{head}| +- {guard}\n"
    (one,) = findings(tmp_path, "RCP007", text)
    assert ("The new entry has a symbol for it" in one.message) is is_symbol
    assert (one.harmless == "further values fit the entry with the symbol") is is_symbol


def test_a_layout_within_a_model_is_a_remark() -> None:
    """To convert what the model makes itself was faster once, slower once, and twice nothing."""
    (folder,) = FIXTURES.glob("ONE004-*")
    severities = {
        name: next(one for one in analyze(folder / name).findings if one.code == "ONE004").severity
        for name in ("fires-image-made-within.log", "fires-default-layout.log")
    }
    assert severities == {
        "fires-image-made-within.log": Severity.INFO,
        "fires-default-layout.log": Severity.WARNING,
    }
