"""What is known of the installed log kinds and rules without importing them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelens import analyze, context
from tracelens.context import Context
from tracelens.engine import choose, judge, select_rules
from tracelens.evidence import Evidence, arguments, needs
from tracelens.logs import Joined, Log, openings
from tracelens.plugins import manifest
from tracelens.plugins.facts import LogFacts, RuleFacts
from tracelens.plugins.registry import discover
from tracelens.report import Finding, Outcome
from tracelens.rules import Rule

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: Two logs of each family, and the sample.
LOGS = sorted(
    path
    for family in {path.name[:3] for path in (FIXTURES / "rules").iterdir()}
    for path in sorted((FIXTURES / "rules").glob(f"{family}*/fires-*"))[::7][:2]
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cache folder with nothing in it."""
    manifest._current.cache_clear()
    with context.using(Context(tmp_path)):
        yield tmp_path


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_the_report_is_the_same_with_and_without(path: Path, folder: Path) -> None:
    kept = analyze(str(path)).to_json()
    with context.using(Context()):
        assert analyze(str(path)).to_json() == kept
    assert list(folder.glob("installed-*"))


def test_it_is_kept_and_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = manifest.current()
    assert len(list(folder.iterdir())) == 1
    manifest._current.cache_clear()
    monkeypatch.setattr(manifest, "_made", pytest.fail)
    assert manifest.current() == made
    assert [facts.code for facts in choose(["ONE"])] == [r.code for r in select_rules(["ONE"])]


def test_a_damaged_one_is_made_again(folder: Path) -> None:
    made = manifest.current()
    (path,) = folder.glob("installed-*")
    path.write_bytes(b'{"logs": [{"module"')
    manifest._current.cache_clear()
    assert manifest.current() == made


def test_it_holds_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = tmp_path / "a_pack"
    (pack / "inner").mkdir(parents=True)
    for module in (pack / "__init__.py", pack / "inner" / "one.py"):
        module.touch()
    monkeypatch.syspath_prepend(pack.parent)
    before = list(manifest._files("a_pack"))
    assert [path for path, _ in before] == [
        str(pack / "__init__.py"),
        str(pack / "inner" / "one.py"),
    ]
    (pack / "inner" / "one.py").write_text("x = 1\n")
    assert list(manifest._files("a_pack")) != before


def test_the_oldest_give_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MAX_KEPT", 2)
    for age in range(4):
        manifest._write(folder / f"installed-{age}.json", b"")
        os.utime(folder / f"installed-{age}.json", (age, age))
    assert {path.name for path in folder.iterdir()} == {"installed-2.json", "installed-3.json"}


def test_an_unwritable_folder_is_no_loss(folder: Path) -> None:
    with context.using(Context(folder / "missing")):
        assert manifest.current() == manifest._made()


def joined(below: type[Joined] = Joined) -> Iterator[type[Joined]]:
    """Every record type that is joined from others."""
    for kind in below.__subclasses__():
        if vars(kind).get("join") and kind.__module__.startswith("tracelens."):
            yield kind
        yield from joined(kind)


def test_nothing_is_joined_from_nothing() -> None:
    discover("rules", Rule)
    for kind in joined():
        if kind.walks() != ():
            assert list(Evidence().table(kind)) == [], kind


#: The rules that need nothing: the others are absent where there is nothing.
UNDEMANDING = [
    rule
    for rule in select_rules()
    if not any(t.required and t.switches for t in RuleFacts.read(rule).tables)
]


@pytest.mark.parametrize("rule", UNDEMANDING, ids=lambda rule: rule.code)
def test_a_rule_says_nothing_about_empty_tables(rule: Rule) -> None:
    """The engine does not ask it then."""
    assert list(rule.check(**arguments(rule.check, Evidence()))) == []


class Everything(Rule):
    """One finding. Always."""

    code, name = "XXX001", "always"

    def check(self, *, evidence: Evidence) -> Iterator[Finding]:
        yield self.finding(title=f"{len(evidence.kinds)} kinds", message="")


class Nothing(Rule):
    """One finding. Always."""

    code, name = "XXX002", "no-tables"

    def check(self) -> Iterator[Finding]:
        yield self.finding(title="always", message="")


def test_a_rule_that_reads_more_than_tables_is_always_asked() -> None:
    report = judge(Evidence(), [], rules=[Everything(), Nothing()])
    assert [verdict.verdict for verdict in report.verdicts] == [Outcome.FIRED, Outcome.FIRED]


def test_what_is_known_of_a_log_kind_is_what_it_declares() -> None:
    for log in discover("logs", Log):
        facts = LogFacts.read(log)
        assert facts.load() is log
        assert (facts.marks, facts.opens, facts.begins, facts.continues) == (
            log.marks,
            openings(log),
            log.begins,
            log.continues,
        )
        assert set(facts.artifacts) == log.artifacts


def test_what_is_known_of_a_rule_names_its_tables() -> None:
    for rule in select_rules():
        facts = RuleFacts.read(rule)
        kinds = [kind for kind, _ in needs(rule.check).values() if kind is not None]
        assert [table.name for table in facts.tables] == [kind.__name__ for kind in kinds]
        assert all(table.types or table.joins or table.always for table in facts.tables)
        assert type(facts.load()) is type(rule)
