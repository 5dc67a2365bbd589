"""The pytest plug-in that tests rules: ours, and those of every pack.

The whole test of a pack's rules is::

    from tracelens.testing import RuleCase


    def test_rule(rule_case: RuleCase) -> None:
        rule_case.check()

It runs once for every ``fixtures/rules/<CODE>-<name>/<promise>-<case>.log`` (or ``.log.gz``, and
``.json`` or ``.json.gz`` for traces). The first word of the file name promises what the rule makes
of that log, and no flag changes it. What the user gets to read is a syrupy snapshot, which
``--snapshot-update`` rewrites.

==========  =====================================================================
``fires-``  the rule fires, and some finding is more than a note
``quiet-``  the rule has looked and found nothing, or harmless things only
``absent-`` the log does not hold what the rule reads
==========  =====================================================================

The test of a pack's log kinds is as short::

    from tracelens.testing import GrammarCase


    def test_grammar(grammar_case: GrammarCase) -> None:
        grammar_case.check()

It runs once for every log kind whose module is below the folder that pytest runs in, or, where none
is, for those of all installed packs.

This module is imported by every pytest run of its environment, so it imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion
    from syrupy.extensions.base import AbstractSyrupyExtension

    from tracelens.live.expecting import Compilation
    from tracelens.logs import Log
    from tracelens.report import Report
    from tracelens.rules import Rule

__all__ = ["Example", "GrammarCase", "RuleCase", "compiles", "told"]

SUFFIXES = (".log", ".log.gz", ".json", ".json.gz")
PROMISES = ("absent", "fires", "quiet")


@dataclass(frozen=True)
class RuleCase:
    """One log, and what one rule must make of it."""

    path: Path
    snapshot: SnapshotAssertion

    @property
    def promise(self) -> str:
        """What the file name says: ``fires``, ``quiet`` or ``absent``."""
        return self.path.name.partition("-")[0]

    def check(self) -> None:
        """Ask the rule about the log; compare verdict and promise, text and snapshot.

        With the first log of a pack's rule, also look whether each promise that a rule must have is
        there, and whether the lines on its page are read.

        Raises:
            AssertionError: The rule is not installed, keeps another promise, reads differently, or
                its report does not survive being saved; or its logs or its page are not whole.
        """
        from tracelens.report import Report

        report = self.report()
        # First, since an update run deletes the snapshots that it does not see being compared.
        reads_the_same = told(report, self.rule) == self.snapshot
        assert _kept(report) == self.promise, f"{self.path}: {report.verdicts[0]}"
        saved = report.to_json()
        assert Report.model_validate_json(saved).to_json() == saved, "not the same once saved"
        assert reads_the_same, _plain(self.snapshot.get_assert_diff())
        if self.path == _logs_in(self.path.parent)[0]:
            assert not (wrong := _not_whole(self.path.parent, self.rule)), "\n".join(wrong)

    @property
    def rule(self) -> Rule:
        """The rule that the log's folder is named after."""
        from tracelens.engine import select_rules

        code, _, name = self.path.parent.name.partition("-")
        rules = [rule for rule in select_rules([code]) if rule.code == code]
        assert [rule.name for rule in rules] == [name], f"the rule {code} is not called {name}"
        return rules[0]

    def report(self) -> Report:
        """Return what the rule says about the log. Paths in it are relative to the log's folder."""
        from tracelens.engine import judge
        from tracelens.source import read

        with contextlib.chdir(self.path.parent):
            evidence, inputs = read([self.path.name])
        return judge(evidence, inputs, rules=[self.rule])


class Example(NamedTuple):
    """One record of a grammar's header."""

    text: str
    #: Whether it is understood and says nothing.
    silent: bool


@dataclass(frozen=True)
class GrammarCase:
    """One log kind, its models and its grammar."""

    log: type[Log]

    def check(self) -> None:
        """Check that rules and models have their counterparts, and that the examples are read.

        Raises:
            PluginError: A rule's text reaches no model, or no rule fills a model.
            AssertionError: An example of the grammar's header is not read.
        """
        from tracelens import grammars
        from tracelens.logs import measured

        grammars.load(self.log.name, self.log.__module__).check()
        for example in self.examples():
            records = self.log.parse(measured(self.log, example.text)[0])
            assert bool(records) is not example.silent, (
                f"{len(records)} records in {example.text!r}"
            )

    def header(self) -> list[str]:
        """Return the lines of comment that the grammar begins with."""
        from tracelens import grammars

        path = grammars.path_of(self.log.name, self.log.__module__)
        return path.read_text(encoding="utf-8").partition("\n\n")[0].split("\n")

    def examples(self) -> Iterator[Example]:
        """Yield the records of the header: a first line, and lines with the same indent."""
        held: list[str] | None = None
        silent = False
        for line in [*self.header(), "// end"]:
            if held is not None and (line == "//" or line.startswith("//" + 11 * " ")):
                held.append(line[13:])
                continue
            if held is not None:
                yield Example("\n".join(held).rstrip("\n"), silent)
                held = None
            if line[:13] in {"// example   ", "// silent    "}:
                held, silent = [line[13:]], line.startswith("// silent")


def _plain(lines: list[str]) -> str:
    """Return lines without the escape sequences of colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(lines))


def _kept(report: Report) -> str:
    """Return which promise the report of a single rule keeps.

    A rule that warns and says only that it saw something harmless is quiet; a rule whose findings
    are never more than notes fires when it has one.
    """
    from tracelens.engine import select_rules

    verdict = report.verdicts[0].verdict.value
    if verdict != "fired":
        return str(verdict)
    (rule,) = (rule for rule in select_rules() if rule.code == report.verdicts[0].code)
    only_notes = rule.severity.value == "none"
    loud = any(finding.severity.value != "none" for finding in report.findings)
    return "fires" if loud or only_notes else "quiet"


def _logs_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.name.endswith(SUFFIXES))


def _not_whole(folder: Path, rule: Rule) -> list[str]:
    """Return what a pack's rule lacks in logs and on its page; ours have tests of their own."""
    from tracelens.engine import choose
    from tracelens.judging import excerpts
    from tracelens.logs import Log
    from tracelens.plugins.registry import discover
    from tracelens.source.kinds import Kinds

    (mine,) = (facts for facts in choose() if facts.code == rule.code)
    if not mine.distribution:
        return []
    of_pack = [
        f"{one.code}-{one.name}" for one in choose() if one.distribution == mine.distribution
    ]
    there = {one: {path.name.partition("-")[0] for path in _logs_in(folder.parent / one)}
             for one in of_pack}  # fmt: skip
    wrong = excerpts.problems(type(rule), Kinds(discover("logs", Log)))
    for one in sorted(of_pack):
        lacks = [word for word in ("fires", "quiet") if word not in there[one]]
        if one == folder.name and lacks:
            wrong += [f"{one}: no {word}-*.log: every rule shows both" for word in lacks]
        elif not there[one] and folder.name == min(name for name in of_pack if there[name]):
            wrong.append(f"{one}: no logs in {folder.parent}")
    return wrong


def told(report: Report, rule: Rule) -> str:
    """Return all that a rule says: what users read, and what programs do."""
    from tracelens.judging.told import told as said

    return said(report, rule)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a pack keep its logs elsewhere."""
    parser.addini(
        "tracelens_fixtures",
        "folder of the logs that rules are tested with",
        default="fixtures/rules",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of every log, and of every log kind."""
    if "grammar_case" in metafunc.fixturenames:
        kinds = _kinds(metafunc.config.rootpath)
        metafunc.parametrize(
            "grammar_case", [GrammarCase(kind) for kind in kinds], ids=[kind.name for kind in kinds]
        )
    if "rule_case" not in metafunc.fixturenames:
        return
    _check_whole()
    root = metafunc.config.rootpath / metafunc.config.getini("tracelens_fixtures")
    logs = sorted(path for path in root.glob("*/*") if path.name.endswith(SUFFIXES))
    if not logs:
        pytest.fail(
            f"no logs in {root}/<CODE>-<name>/; the ini option tracelens_fixtures names the folder",
            pytrace=False,
        )
    for path in logs:
        if path.name.partition("-")[0] not in PROMISES:
            pytest.fail(f"{path}: no promise: fires-, quiet- or absent-", pytrace=False)
    ids = [f"{log.parent.name.partition('-')[0]}-{_stem(log)}" for log in logs]
    metafunc.parametrize("rule_case", logs, ids=ids, indirect=True)


def _check_whole() -> None:
    """Name what is broken of the installed packs before rules fail for want of it."""
    from tracelens.plugins import manifest

    if broken := manifest.current().broken:
        pytest.fail("; ".join(str(one.error()) for one in broken), pytrace=False)


def _kinds(root: Path) -> list[type[Log]]:
    """Return the log kinds below ``root``; where there are none, those of all packs."""
    from tracelens.logs import Log
    from tracelens.plugins.registry import found

    every = found("logs", Log)
    if every.broken:
        pytest.fail("; ".join(str(one.error()) for one in every.broken), pytrace=False)
    # Of those that a rule declares as data, the example is read when they are loaded.
    kinds = [pair for pair in every.classes if not hasattr(pair[0], "readers")]
    files = {log: Path(sys.modules[log.__module__].__file__ or "/") for log, _ in kinds}
    below = [log for log, file in files.items() if file.is_relative_to(root)]
    return below or [log for log, distribution in kinds if distribution]


def _stem(log: Path) -> str:
    stem = log.name.removesuffix(".gz").removesuffix(".log").removesuffix(".json")
    return stem.replace(".", "_")


@pytest.fixture
def rule_case(request: pytest.FixtureRequest) -> RuleCase:
    """Return one log of the pack, and the snapshot of what the rule says about it."""
    if not request.config.pluginmanager.hasplugin("syrupy"):
        pytest.fail("rule tests need syrupy: pip install torch-tracelens[testing]", pytrace=False)
    snapshot: SnapshotAssertion = request.getfixturevalue("snapshot")
    return RuleCase(request.param, snapshot.use_extension(_text_files()))


class _Compiles:
    """Calls :func:`tracelens.compiles`; the recordings are kept with the test's other files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    @contextlib.contextmanager
    def __call__(self, model: Any, *inputs: Any, **settings: Any) -> Iterator[Compilation]:
        from tracelens.live.expecting import compiles as plain

        self._number += 1
        folder = self._folder / f"compiles-{self._number}"
        with plain(model, *inputs, **{"folder": folder, **settings}) as compilation:
            yield compilation


@pytest.fixture
def compiles(tmp_path: Path) -> Callable[..., AbstractContextManager[Compilation]]:
    """Compile a model, watched, and ask what its compilation was like.

    ``with compiles(model, x) as c: ...``, and after the block
    ``c.breaks(0).recompiles(max=1).no("ONE001").fuses("linear+gelu")``. A test that asks for it is
    skipped where torch is not installed.
    """
    pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    return _Compiles(tmp_path)


#: The same under a name that no other plug-in has.
tracelens_compiles = compiles


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show of a compilation that is not as expected the message alone: it says what to change."""
    report = yield
    expecting = sys.modules.get("tracelens.live.expecting")
    error = call.excinfo and call.excinfo.value
    if expecting is not None and isinstance(error, expecting.NotAsExpected):
        report.longrepr = f"{item.location[0]}:{(item.location[1] or 0) + 1}: {error}"
        report.sections = []
    return report


@functools.cache
def _text_files() -> type[AbstractSyrupyExtension]:
    """Return how snapshots are kept: one readable file per log, in tests/__snapshots__.

    As syrupy has it: of a folder that it writes to it deletes every file that it does not know, and
    beside the logs that would be the logs. It looks through the folder once for each class, so
    there is one class.
    """
    from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

    class Text(SingleFileSnapshotExtension):
        """One readable file per log."""

        _write_mode = WriteMode.TEXT
        file_extension = "txt"

    return Text
