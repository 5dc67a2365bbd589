"""docs/failures.md is made from the rules: every failure as people see it, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tracelens.engine import select_rules
from tracelens.rules import Rule
from tracelens.rules.err._failure_rule import FailureData

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
HEAD = """# It failed: what now

The program ended in an error. Look for the words of its message here, or let tracelens do it:

    tracelens analyze what-was-printed.txt
    tracelens explain "Failed to find C compiler"

The text may be pasted as it is: behind a logger's prefix, in a box, cut, wrapped, of many ranks.
The innermost message counts: `InductorError` and `BackendCompilerFailed` say where it was caught.
To go on meanwhile, `TORCH_COMPILE_DISABLE=1` runs the program without compiling.
"""


def rules() -> list[Rule]:
    """The rules about failures; the one for all others is last."""
    found = select_rules(["ERR"])
    return [*found[1:], found[0]]


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(line for rule in rules() for line in section(rule))]) + "\n"


def section(rule: Rule) -> Iterator[str]:
    looks = rule.sections()["What it looks like"]
    excerpt = dedent("\n".join(x for x in looks.split("\n") if x.startswith("    ") or not x))
    yield f"## {rule.summary()}"
    yield ""
    yield f"[{rule.code} {rule.name}](rules/{rule.code}.md)"
    yield ""
    yield from ("    " + line if line else "" for line in excerpt.strip("\n").split("\n"))
    yield ""
    data = FailureData(cause="unknown", stage="dynamo", facts={})
    for remedy in rule.remedies:
        text = remedy.text if isinstance(remedy.text, str) else remedy.text(data)
        yield f"- {f'({remedy.when}) ' if remedy.when else ''}{text}"
        for paste in (remedy.setting, remedy.env, remedy.code):
            if isinstance(paste, str):
                yield ""
                yield from ("      " + line for line in paste.split("\n"))
                yield ""
    yield ""


def test_the_page_about_failures_is_made_from_the_rules(pytestconfig: pytest.Config) -> None:
    text = page()
    if pytestconfig.getoption("update_gallery"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "--update-gallery writes it anew"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_what_a_page_shows_is_explained_by_its_rule(rule: Rule, tmp_path: Path) -> None:
    from tracelens import analyze

    looks = rule.sections()["What it looks like"]
    excerpt = dedent("\n".join(x for x in looks.split("\n") if x.startswith("    ") or not x))
    path = tmp_path / "pasted.txt"
    path.write_text(excerpt.strip("\n") + "\n", encoding="utf-8")
    report = analyze(str(path))
    assert [finding.code for finding in report.findings][:1] == [rule.code]
