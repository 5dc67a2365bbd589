"""A pack beside us: a rule, a log kind, a format and rule tests, without an edit here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm import Done, run_pytest, tracelens

ROOT = Path(__file__).parents[1]

LOG = '''
"""Lines such as ``thermometer: 81 C``."""

import re

from tracelens.logs import Log, Record


class Thermometer(Log):
    """What the watchdog writes."""

    name = "thermometer"
    switch = "WATCHDOG=1"
    marks = ("thermometer: ",)
    counted = True


class Reading(Record):
    """One temperature."""

    celsius: int
'''

GRAMMAR = """// thermometer: one line per reading
start: reading
reading: "thermometer: " CELSIUS " C"
CELSIUS: /-?[0-9]{1,3}/
"""

RULE = '''
"""Heat."""

from collections.abc import Iterator

from heat.logs.thermometer import Reading
from tracelens import Finding, Rule, Table


class TooHot(Rule):
    """The machine was too hot."""

    code = "HOT001"
    name = "too-hot"

    def check(self, readings: Table[Reading]) -> Iterator[Finding]:
        for seen in readings.where(lambda reading: reading.celsius > 90):
            yield self.finding(
                seen.record.celsius,
                title=f"The machine ran at {seen.record.celsius} C",
                message="Clocks are lowered above 90 C.",
                count=seen.count,
                evidence=[seen.quote()],
            )
'''

FORMAT = '''
"""One line."""

from tracelens.render import Options, Renderer
from tracelens.report import Report


class Brief(Renderer):
    name = "brief"
    suffixes = (".brief",)

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        return f"{len(report.findings)} findings\\n"
'''

ENTRY_POINTS = """[tracelens.logs]
heat = heat.logs

[tracelens.rules]
heat = heat.rules

[tracelens.renderers]
heat = heat.brief
"""

RULE_TEST = """from tracelens.testing import RuleCase


def test_rule(rule_case: RuleCase) -> None:
    rule_case.check()
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Return a folder with the pack as pip installs it, and its tests beside it."""
    write(
        tmp_path / "site",
        {
            "heat/__init__.py": "",
            "heat/logs/__init__.py": "",
            "heat/logs/thermometer.py": LOG,
            "heat/logs/thermometer.lark": GRAMMAR,
            "heat/rules/__init__.py": "",
            "heat/rules/too_hot.py": RULE,
            "heat/brief.py": FORMAT,
            "heat_pack-0.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: heat-pack\n",
            "heat_pack-0.1.dist-info/entry_points.txt": ENTRY_POINTS,
        },
    )
    write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "tests/test_rules.py": RULE_TEST,
            "fixtures/rules/HOT001-too-hot/fires-summer.log": "epoch 1\nthermometer: 95 C\n",
            "fixtures/rules/HOT001-too-hot/quiet-winter.log": "thermometer: 55 C\n",
            "fixtures/rules/HOT001-too-hot/absent-no-watchdog.log": "epoch 1\n",
        },
    )
    return tmp_path


GRAMMAR_TEST = """from tracelens.testing import GrammarCase


def test_grammar(grammar_case: GrammarCase) -> None:
    grammar_case.check()
"""


@pytest.mark.parametrize(
    ("grammar", "passes"),
    [
        (GRAMMAR, True),
        (
            GRAMMAR.replace("start: reading", 'start: reading | humid\nhumid: "humid " CELSIUS'),
            False,
        ),
        (
            GRAMMAR.replace("reading: ", "readings: ").replace("start: reading", "start: readings"),
            False,
        ),
        ("// thermometer: one\n//\n// example   thermometer: 9 C\n\n" + GRAMMAR, True),
        ("// thermometer: one\n//\n// example   thermometer: hot\n\n" + GRAMMAR, False),
    ],
)
def test_a_pack_tests_its_grammars_in_two_lines(pack: Path, grammar: str, passes: bool) -> None:
    write(pack, {"tests/test_rules.py": GRAMMAR_TEST, "site/heat/logs/thermometer.lark": grammar})
    done = rule_tests(pack)
    assert (done.returncode == 0) is passes, done.stdout
    assert "1 passed" in done.stdout or "1 failed" in done.stdout


def run(pack: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python as who has the pack installed; most tests fork a process that is warm instead."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = ours | {"PYTHONPATH": str(pack / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=pack, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def in_process_of_its_own(pack: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(pack, "-m", "tracelens", *words)


def rule_tests(pack: Path, *words: str) -> Done:
    return run_pytest(pack, "-q", "-p", "no:cacheprovider", *words)


def test_a_pack_adds_a_rule_a_log_kind_and_a_format(pack: Path) -> None:
    log = "fixtures/rules/HOT001-too-hot/fires-summer.log"
    words = ("analyze", log, "-f", "json", "-o", "out.brief", "--select", "HOT")
    done = in_process_of_its_own(pack, *words)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["inputs"][0]["kinds"] == {"thermometer": 1}
    assert report["findings"][0]["evidence"][0]["line"] == 2
    assert (pack / "out.brief").read_text() == "1 findings\n"


def test_the_switch_of_a_packs_log_kind_is_named_when_evidence_is_absent(pack: Path) -> None:
    done = tracelens(pack, "analyze", "--sample", "-q", "--select", "HOT001", "--require", "HOT001")
    assert done.returncode == 1
    assert "WATCHDOG=1" in done.stderr


def test_a_pack_that_cannot_be_imported_is_named(pack: Path) -> None:
    (pack / "site/heat/rules/too_hot.py").write_text("import no_such_module\n")
    done = tracelens(pack, "analyze", "--sample")
    assert done.returncode == 3
    assert "ONE001" in done.stdout
    assert done.stderr.startswith("tracelens: heat-pack: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_annotation_is_reported_with_its_place(pack: Path) -> None:
    rule = pack / "site/heat/rules/too_hot.py"
    rule.write_text(RULE.replace("readings: Table[Reading]", "readings: list"))
    done = tracelens(pack, "analyze", "--sample")
    line = RULE.split("\n").index(
        "    def check(self, readings: Table[Reading]) -> Iterator[Finding]:"
    )
    assert done.returncode == 3
    assert f"{rule}:{line + 1}" in done.stderr


def test_a_pack_tests_its_rules_in_two_lines(pack: Path) -> None:
    updated = run(pack, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--snapshot-update")
    assert "3 snapshots generated" in updated.stdout
    snapshots = pack / "tests/__snapshots__/test_rules"
    assert "The machine ran at 95 C" in "".join(
        path.read_text() for path in snapshots.glob("*fires-summer*.txt")
    )
    done = rule_tests(pack)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_snapshots_do_not_depend_on_where_the_pack_is(pack: Path) -> None:
    rule_tests(pack, "--snapshot-update")
    moved = pack / "elsewhere"
    for name in ("pytest.ini", "tests", "fixtures", "site"):
        (moved / name).parent.mkdir(exist_ok=True)
        (pack / name).rename(moved / name)
    assert rule_tests(moved).returncode == 0


@pytest.mark.parametrize(
    ("log", "content"),
    [
        ("fires-winter", "thermometer: 55 C\n"),
        ("fires-nothing", "epoch 1\n"),
        ("quiet-summer", "thermometer: 95 C\n"),
        ("quiet-nothing", "epoch 1\n"),
        ("absent-summer", "thermometer: 95 C\n"),
        ("absent-winter", "thermometer: 55 C\n"),
    ],
)
def test_a_broken_promise_fails_even_when_snapshots_are_updated(
    pack: Path, log: str, content: str
) -> None:
    write(pack, {f"fixtures/rules/HOT001-too-hot/{log}.log": content})
    done = rule_tests(pack, "--snapshot-update", "-k", log)
    assert done.returncode == 1
    assert f"{log}.log: " in done.stdout


def test_another_wording_fails(pack: Path) -> None:
    rule_tests(pack, "--snapshot-update")
    (pack / "site/heat/rules/too_hot.py").write_text(RULE.replace("ran at", "was at"))
    done = rule_tests(pack)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "- " in done.stdout
    assert "The machine was at 95 C" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pytest.ini": "[pytest]\ntracelens_fixtures = nowhere\n"}, "nowhere/<CODE>-<name>/"),
        ({"fixtures/rules/HOT001-too-hot/hot.log": ""}, "hot.log: no promise: fires-, quiet-"),
        ({"fixtures/rules/HOT009-other/fires-x.log": ""}, "HOT009"),
        ({"fixtures/rules/HOT001-hot/fires-x.log": ""}, "HOT001 is not called hot"),
    ],
)
def test_a_mistake_in_the_fixtures_is_explained(
    pack: Path, change: dict[str, str], said: str
) -> None:
    write(pack, change)
    done = rule_tests(pack, "--snapshot-update")
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr


PAGE = '''"""The machine was too hot.

    ## What it looks like

    The watchdog says:

        thermometer: 95 C
    """
'''
PAGED = RULE.replace('"""The machine was too hot."""', PAGE.strip())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"site/heat/rules/too_hot.py": PAGED}, ""),
        (
            {"site/heat/rules/too_hot.py": PAGED.replace("95 C\n", "hot\n")},
            "thermometer does not read it",
        ),
        (
            {"site/heat/rules/too_hot.py": PAGED.replace("thermometer: 95 C\n", "hot: 9\n")},
            "no log kind reads it",
        ),
        (
            {"site/heat/rules/cold.py": RULE.replace("too-hot", "cold").replace("001", "002")},
            "HOT002-cold: no logs in ",
        ),
        (
            {"fixtures/rules/HOT001-too-hot/quiet-winter.log": ""},
            "HOT001-too-hot: no quiet-*.log",
        ),
    ],
)
def test_logs_and_page_of_a_rule_are_whole(pack: Path, change: dict[str, str], said: str) -> None:
    write(pack, change)
    for name, text in change.items():
        if not text:
            (pack / name).unlink()
    done = rule_tests(pack, "--snapshot-update", "-k", "HOT001")
    assert said in done.stdout
    assert done.returncode == bool(said), done.stdout


def test_a_snapshot_of_a_log_that_is_gone_fails(pack: Path) -> None:
    """Which syrupy does, of a whole run."""
    write(pack, {"fixtures/rules/HOT001-too-hot/quiet-autumn.log": "thermometer: 60 C\n"})
    rule_tests(pack, "--snapshot-update")
    (pack / "fixtures/rules/HOT001-too-hot/quiet-autumn.log").unlink()
    done = rule_tests(pack)
    assert done.returncode == 1
    assert "1 snapshot unused" in done.stdout


def test_the_packs_are_listed_with_what_they_add(pack: Path) -> None:
    done = tracelens(pack, "packs", "-f", "json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["state"] == "works"
    assert found["rules"] == ["HOT001"]
    assert found["logs"] == ["thermometer"]
    assert found["formats"] == ["brief"]
    name = found["distribution"]
    assert tracelens(pack, "packs").stdout.startswith(f"{name} ")
    listed = tracelens(pack, "rules").stdout.splitlines()
    assert [line.split()[-1] for line in listed if line.startswith("HOT001")] == [name]
    assert tracelens(pack, "packs", "--no-plugins").stdout == "no packs are installed\n"


def test_every_dependency_has_an_upper_bound() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [one for one in project["dependencies"] if "<" not in one] == []


def test_a_broken_pack_is_listed_as_such(pack: Path) -> None:
    (rule,) = pack.rglob("too_hot.py")
    rule.write_text("import nothing_of_the_kind\n")
    done = tracelens(pack, "packs")
    assert done.returncode == 3
    assert " broken\n" in done.stdout
    assert "nothing_of_the_kind" in done.stdout
