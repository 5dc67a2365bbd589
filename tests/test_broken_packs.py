"""A zoo of broken packs: each is named, ends in exit code 3, and changes nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.test_packs import ENTRY_POINTS, FORMAT, GRAMMAR, LOG, RULE, write
from tests.warm import SAMPLE, tracelens
from tracelens import analyze

METADATA = "Metadata-Version: 2.1\nName: heat-pack\n"
#: Another pack, in which nothing is wrong.
MILD_RULE = (
    RULE.replace(
        "heat.logs.thermometer import Reading",
        "tracelens.logs.onednn_verbose import PrimitiveExec as Reading",
    )
    .replace("TooHot", "Mild")
    .replace("HOT001", "MLD001")
    .replace("too-hot", "mild")
    .replace("lambda reading: reading.celsius > 90", "lambda reading: bool(reading.impl)")
    .replace("seen.record.celsius", "seen.record.impl")
)
HEALTHY = {
    "heat/__init__.py": "",
    "heat/logs/__init__.py": "",
    "heat/logs/thermometer.py": LOG,
    "heat/logs/thermometer.lark": GRAMMAR,
    "heat/rules/__init__.py": "",
    "heat/rules/too_hot.py": RULE,
    "heat/brief.py": FORMAT,
    "heat_pack-0.1.dist-info/METADATA": METADATA,
    "heat_pack-0.1.dist-info/entry_points.txt": ENTRY_POINTS,
    "mild/__init__.py": MILD_RULE,
    "mild_pack-0.1.dist-info/METADATA": METADATA.replace("heat", "mild"),
    "mild_pack-0.1.dist-info/entry_points.txt": "[tracelens.rules]\nmild = mild\n",
}


def check(body: str) -> dict[str, str]:
    """Return the rule with another body of ``check``."""
    head = RULE.partition("        for seen in")[0]
    return {"heat/rules/too_hot.py": f"{head}        {body}\n"}


def log(old: str, new: str) -> dict[str, str]:
    assert old in LOG
    return {"heat/logs/thermometer.py": LOG.replace(old, new)}


def rule(old: str, new: str) -> dict[str, str]:
    assert old in RULE
    return {"heat/rules/too_hot.py": RULE.replace(old, new)}


def grammar(old: str, new: str) -> dict[str, str]:
    assert old in GRAMMAR
    return {"heat/logs/thermometer.lark": GRAMMAR.replace(old, new)}


def method(name: str, body: str, parameters: str = "text") -> dict[str, str]:
    """Return the log kind with a method that does something else."""
    return log("    counted = True\n", f"\n{classmethod_of(name, body, parameters)}")


def classmethod_of(name: str, body: str, parameters: str) -> str:
    return f"    @classmethod\n    def {name}(cls, {parameters}):\n        {body}\n"


def both(*parts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for part in parts for name, text in part.items()}


MEASURING = log(
    "counted = True\n",
    "counted = True\n\n" + classmethod_of("measure", "raise SystemExit(0)", "line"),
)
IMPORT_OURS = "from tracelens.logs.onednn_verbose import LibraryVersion"
OWN = "self.finding(title='', message='')"
#: What is changed, and what is said of it.
ZOO: dict[str, tuple[dict[str, str], str]] = {
    "import-error": (rule("from heat.logs", "from heat.lugs"), "ModuleNotFoundError"),
    "syntax-error": (rule("def check", "df check"), "SyntaxError"),
    "exit-at-import": ({"heat/logs/__init__.py": "raise SystemExit(0)\n"}, "SystemExit: 0"),
    "interrupt-at-import": ({"heat/rules/__init__.py": "raise KeyboardInterrupt\n"}, "Keyboard"),
    "odd-exception-at-import": (
        {"heat/rules/__init__.py": "class Odd(BaseException): ...\n\n\nraise Odd('x')\n"},
        "Odd: x",
    ),
    "entry-point-to-nothing": (
        {"heat_pack-0.1.dist-info/entry_points.txt": ENTRY_POINTS.replace("heat.rules", "heat.no")},
        "heat.no",
    ),
    "entry-point-that-is-none": (
        {"heat_pack-0.1.dist-info/entry_points.txt": "[tracelens.rules]\nmine = no module!\n"},
        "no module!",
    ),
    "bad-annotation": (rule("Table[Reading]", "list"), "too_hot.py:"),
    "unknown-annotation": (rule("Table[Reading]", "Table[Readin]"), "Readin"),
    "broken-grammar": (grammar("start: reading", "start: reading reading("), "thermometer.lark"),
    "grammar-conflict": (
        grammar("start: reading", "start: a | b\na: reading\nb: reading"),
        "thermometer.lark",
    ),
    "no-grammar": ({"heat/logs/thermometer.lark": ""}, "thermometer.lark"),
    "rule-without-model": (
        grammar("start: reading", 'start: reading | humid\nhumid: "humid " CELSIUS'),
        "humid",
    ),
    "terminal-without-field": (
        grammar('" C"', '" C" WHERE?\nWHERE: / in [a-z]+/'),
        "has no field 'where'",
    ),
    "model-without-rule": (
        log("    celsius: int\n", "    celsius: int\n\n\nclass Humid(Record):\n    celsius: int\n"),
        "Humid",
    ),
    "duplicate-code": (rule("HOT001", "ONE001"), "ONE001"),
    "malformed-code": (rule("HOT001", "HOT-1"), "HOT-1"),
    "duplicate-rule-name": (rule('"too-hot"', '"reference-kernel-dispatch"'), "reference-kernel"),
    "malformed-rule-name": (rule('"too-hot"', '"Too Hot!"'), "Too Hot!"),
    "wrong-severity": (rule('name = "too-hot"', 'name = "too-hot"\n    severity = "bad"'), "bad"),
    "duplicate-kind": (log('name = "thermometer"', 'name = "onednn_verbose"'), "onednn_verbose"),
    "marks-as-text": (log('("thermometer: ",)', '"thermometer: "'), "marks"),
    "empty-mark": (log('("thermometer: ",)', '("",)'), "marks"),
    "another-structured-log": (log("counted = True", "structured = True"), "structured"),
    "duplicate-format": (
        {"heat/brief.py": FORMAT.replace('"brief"', '"json"', 1)},
        "json",
    ),
    "duplicate-suffix": ({"heat/brief.py": FORMAT.replace('".brief"', '".json"')}, ".json"),
    "yields-text": (check("yield 'hot'"), "'str', not a Finding"),
    "yields-none": (check("yield None"), "not a Finding"),
    "returns-nothing": (check("return None"), "check returned None: it must yield"),
    "misspells-a-field": (check("yield from (s.record.heat for s in readings)"), "too_hot.py"),
    "yields-another-code": (
        check(f"yield {OWN}.model_copy(update={{'code': 'ONE001'}})"),
        "ONE001",
    ),
    "yields-another-id": (
        check(f"yield {OWN}.model_copy(update={{'id': 'ONE001-000000'}})"),
        "ONE001-000000",
    ),
    "yields-nonsense": (check(f"yield {OWN}.model_copy(update={{'count': 'x'}})"), "count"),
    "raises-in-check": (check("yield 1 / 0"), "ZeroDivisionError"),
    "exits-in-check": (check("raise SystemExit(0)"), "SystemExit: 0"),
    "sys-exits-in-check": (check("import sys; sys.exit()"), "SystemExit"),
    "interrupts-in-check": (check("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "ends-generators-in-check": (check("raise GeneratorExit"), "GeneratorExit"),
    "exits-in-init": (
        rule(
            "    def check", "    def __init__(self):\n        raise SystemExit(0)\n\n    def check"
        ),
        "SystemExit",
    ),
    "exits-in-parse": (method("parse", "raise SystemExit(0)"), "SystemExit: 0"),
    "raises-in-parse": (method("parse", "return text.no"), "AttributeError"),
    "exits-in-measure": (
        {name: text.replace("Log", "CountedLog") for name, text in MEASURING.items()},
        "SystemExit: 0",
    ),
    "times-of-a-plain-log": (MEASURING, "CountedLog"),
    "exits-in-pieces": (method("pieces", "raise SystemExit(0)"), "SystemExit: 0"),
    "exits-in-frame-of": (method("frame_of", "raise SystemExit(0)"), "SystemExit: 0"),
    "exits-in-owns": (method("owns", "raise SystemExit(0)"), "SystemExit: 0"),
    "exits-in-a-model": (
        log(
            "    celsius: int\n",
            "    celsius: int\n\n    def model_post_init(self, _):\n        raise SystemExit(0)\n",
        ),
        "SystemExit: 0",
    ),
    "exits-in-tables": (method("tables", "raise SystemExit(0)", "evidence"), "SystemExit: 0"),
    "tables-of-nonsense": (method("tables", "return {'heat': [1]}", "evidence"), "tables()"),
    "environment-of-nonsense": (
        method("environment", "return {'torch': [], 'heat': 1}", "evidence"),
        "heat",
    ),
    "exits-in-a-story": (
        rule(
            "    def check",
            "    def causes(self, finding):\n        raise SystemExit(0)\n\n    def check",
        ),
        "SystemExit: 0",
    ),
}
ZOO |= {
    "for-another-api": (
        {"heat/tracelens.toml": 'tracelens-api = ">=2,<3"\n'},
        "'>=2,<3', and this",
    ),
    "for-an-older-api": (
        {"heat/tracelens.toml": 'tracelens-api = "<1"\n'},
        "'<1', and this is 1.0",
    ),
    "api-of-nonsense": ({"heat/tracelens.toml": 'tracelens-api = "one"\n'}, "write it like"),
    "api-of-a-number": ({"heat/tracelens.toml": "tracelens-api = 1\n"}, "write it like"),
    "api-that-is-no-toml": ({"heat/tracelens.toml": "tracelens-api: >=1\n"}, "tracelens.toml"),
    "misspelt-api": ({"heat/tracelens.toml": 'tracelens_api = ">=1"\n'}, "tracelens-api"),
    "records-like-ours": (
        log("class Reading(Record)", f"{IMPORT_OURS}\n\n\nclass Reading(LibraryVersion)"),
        "Reading is a LibraryVersion, which is built in",
    ),
    "records-of-ours": (
        method("parse", f"{IMPORT_OURS}; return LibraryVersion(library='x', version='9'),"),
        "LibraryVersion is built in",
    ),
}
#: What code of a pack may take here, for those of the zoo that never end.
SECONDS = {"TRACELENS_PACK_SECONDS": "2"}
FORGE = "lambda *args, **named: ()"
ZOO |= {
    "sleeps-at-import": (
        {"heat/rules/__init__.py": "import time\n\ntime.sleep(3600)\n"},
        "it took longer than 2 s",
    ),
    "never-ends-in-check": (check("while True: pass; yield"), "it took longer than 2 s"),
    "never-ends-and-catches": (
        {
            "heat/rules/too_hot.py": check("CAUGHT")["heat/rules/too_hot.py"].replace(
                "        CAUGHT\n",
                "        for _ in range(2):\n            try:\n                while True: pass\n"
                "            except BaseException: pass\n        yield\n",
            )
        },
        "heat-pack: ",
    ),
    "sleeps-in-parse": (method("parse", "import time; time.sleep(3600)"), "longer than 2 s"),
    "sleeps-in-a-story": (
        rule(
            "    def check",
            "    def causes(self, finding):\n        import time; time.sleep(3600)\n\n"
            "    def check",
        ),
        "longer than 2 s",
    ),
    "patches-a-method-at-import": (
        {"heat/rules/__init__.py": f"from tracelens import Rule\n\nRule.finding = {FORGE}\n"},
        "replaces tracelens.rules",
    ),
    "patches-a-rule-of-ours": (
        {
            "heat/rules/__init__.py": "from tracelens.rules.one import reference_kernel_dispatch\n"
            "\nfor rule in vars(reference_kernel_dispatch).values():\n"
            "    if getattr(rule, 'code', '') == 'ONE001':\n"
            f"        rule.check = {FORGE}\n"
        },
        "replaces tracelens.rules.one.reference_kernel_dispatch",
    ),
    "patches-a-constant": (
        {"heat/rules/__init__.py": "import tracelens.engine\n\ntracelens.engine.judge = None\n"},
        "replaces tracelens.engine.judge",
    ),
    "patches-the-code-of-a-function": (
        {
            "heat/rules/__init__.py": "from tracelens import judging\n\n"
            "judging.judge.__code__ = (lambda *args, **named: None).__code__\n"
        },
        "replaces tracelens.judging.judge",
    ),
    "patches-in-check": (
        check(f"import json, tracelens.engine; json.dumps = {FORGE}; yield from ()"),
        "replaces json.dumps",
    ),
    "patches-a-builtin": (
        {"heat/rules/__init__.py": f"import builtins\n\nbuiltins.sorted = {FORGE}\n"},
        "replaces builtins.sorted",
    ),
    "patches-with-wraps": (
        {
            "heat/rules/__init__.py": "import functools, re\n\n"
            "@functools.wraps(re.compile)\ndef other(*args):\n    return None\n\n"
            "re.compile = other\n"
        },
        "replaces re.compile",
    ),
    "adds-an-override": (
        {
            "heat/rules/__init__.py": "from tracelens import Finding\n\n"
            f"Finding.__getattribute__ = {FORGE}\n"
        },
        "replaces tracelens.report",
    ),
    "patches-in-parse": (
        method("parse", f"import tracelens.judging as j; j.Report = {FORGE}; return ()"),
        "replaces tracelens.judging.Report",
    ),
}
OPENING = log(
    "counted = True",
    'opens = ("Output code", " ", "#")\n    prefixed = True\n    modules = ("torch/",)\n'
    '    artifacts = frozenset({"__output_code", "__guards"})',
)
ZOO["openings-of-a-plain-log"] = (OPENING, "HeadedLog")
assert len(ZOO) >= 21


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with something for everybody."""
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_text(SAMPLE.read_text() + "thermometer: 95 C\nthermometer: 40 C\n")
    return path


@pytest.fixture(scope="module")
def alone(recording: Path) -> list[Any]:
    """What is said without any pack."""
    return findings(recording.parent, recording, "--no-plugins", code=0)


def findings(pack: Path, recording: Path, *words: str, code: int = 3) -> list[Any]:
    done = tracelens(pack, "analyze", str(recording), "-f", "json", "-o", "report.md", *words)
    assert done.returncode == code, done.stderr
    assert (pack / "report.md").read_text()
    found: list[Any] = json.loads(done.stdout)["findings"]
    return found


@pytest.mark.parametrize("name", ZOO)
def test_a_broken_pack_is_named_and_costs_nothing_else(
    name: str, tmp_path: Path, recording: Path, alone: list[Any]
) -> None:
    changes, said = ZOO[name]
    write(tmp_path / "site", both(HEALTHY, changes))
    words = ("analyze", str(recording), "-f", "json", "-o", "report.md", "-o", "all.json")
    slow = name.startswith(("sleeps", "never-ends"))
    done = tracelens(tmp_path, *words, settings=SECONDS if slow else {})
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "heat-pack" in done.stderr
    assert said in done.stderr
    assert (tmp_path / "report.md").read_text()
    report = json.loads(done.stdout)
    assert [f for f in report["findings"] if f["code"] not in {"HOT001", "MLD001"}] == alone
    assert [f["code"] for f in report["findings"]].count("MLD001") > 0, "the other pack"
    named = [pack["distribution"] for pack in report["broken_packs"]]
    crashed = [v["reason"] for v in report["verdicts"] if v["verdict"] == "crashed"]
    assert set(named) | {reason.partition(":")[0] for reason in crashed} == {"heat-pack"}


def test_the_healthy_pack_of_the_zoo_is_healthy(tmp_path: Path, recording: Path) -> None:
    write(tmp_path / "site", HEALTHY)
    codes = {finding["code"] for finding in findings(tmp_path, recording, code=0)}
    assert {"HOT001", "MLD001"} <= codes
    done = tracelens(tmp_path, "analyze", str(recording), "-q", "-o", "out.brief")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_plugins_nothing_is_broken(
    tmp_path: Path, recording: Path, alone: list[Any]
) -> None:
    write(tmp_path / "site", both(HEALTHY, ZOO["exits-in-check"][0]))
    assert findings(tmp_path, recording, "--no-plugins", code=0) == alone


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit(0)",
        "return 7",
        "1 / 0",
        "import tracelens.render as ours; ours.Options = None; return ''",
    ],
)
def test_a_broken_format_costs_no_other(tmp_path: Path, recording: Path, body: str) -> None:
    changes = {
        "heat/brief.py": FORMAT.replace('return f"{len(report.findings)} findings\\n"', body)
    }
    assert body in changes["heat/brief.py"]
    write(tmp_path / "site", both(HEALTHY, changes))
    words = ("-o", "out.brief", "-o", "out.md", "-f", "json")
    done = tracelens(tmp_path, "analyze", str(recording), *words)
    assert done.returncode == 3
    assert "heat-pack: format brief" in done.stderr
    assert not (tmp_path / "out.brief").exists()
    assert (tmp_path / "out.md").exists()
    assert json.loads(done.stdout)["findings"]


@pytest.mark.parametrize(
    "command",
    [
        "rules",
        "analyze --sample --select HOT001",
        "explain ONE001",
        "explain ONE001 -f markdown",
        "render report.json -f markdown",
        "repro report.json FIRST",
        "confirm report.json --only ONE019",
    ],
)
def test_every_command_that_asks_a_broken_pack_says_so(
    tmp_path: Path, recording: Path, command: str
) -> None:
    saved = analyze(str(recording))
    (tmp_path / "report.json").write_text(saved.model_dump_json(by_alias=True))
    words = command.replace("FIRST", f"{saved.findings[0].id}").split()
    write(tmp_path / "site", both(HEALTHY, ZOO["syntax-error"][0]))
    done = tracelens(tmp_path, *words)
    assert done.returncode == 3, done.stderr
    assert "heat-pack" in done.stderr
    assert tracelens(tmp_path, "--no-plugins", *words).returncode != 3


GREEDY = {
    "counted": log('("thermometer: ",)', '("o", "V", "I", "W", " ", "onednn", "[", "t")'),
    "bare": both(
        log('("thermometer: ",)', '("onednn", "V1", "V0", " ", "    ", "def ", "thermometer")'),
        {},
    ),
    "everything": log("counted = True", 'begins = re.compile("")\n    continues = re.compile("")'),
    "headed": {name: text.replace("Log", "HeadedLog") for name, text in OPENING.items()},
}


@pytest.mark.parametrize("name", GREEDY)
def test_a_mark_takes_no_line_that_is_claimed(
    name: str, tmp_path: Path, recording: Path, alone: list[Any]
) -> None:
    changes = dict(GREEDY[name])
    if name == "bare":
        changes["heat/logs/thermometer.py"] = changes["heat/logs/thermometer.py"].replace(
            "    counted = True\n", ""
        )
    write(tmp_path / "site", both(HEALTHY, changes))
    found = findings(tmp_path, recording, code=0)
    assert [one for one in found if one["code"] not in {"HOT001", "MLD001"}] == alone


def test_a_pack_silences_nothing_that_is_built_in(
    tmp_path: Path, recording: Path, alone: list[Any]
) -> None:
    loud = rule('name = "too-hot"', 'name = "too-hot"\n    suppresses = "time"')
    write(tmp_path / "site", both(HEALTHY, loud))
    found = findings(tmp_path, recording, code=0)
    assert [one for one in found if one["code"] not in {"HOT001", "MLD001"}] == alone


def test_where_only_the_broken_pack_would_read_the_log_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "heat.log").write_text("thermometer: 95 C\n" * 3)
    write(tmp_path / "site", both(HEALTHY, ZOO["broken-grammar"][0]))
    done = tracelens(tmp_path, "analyze", "heat.log")
    assert done.returncode == 3
    assert "heat-pack" in done.stderr
    assert "thermometer.lark" in done.stderr


def test_what_a_pack_would_have_written_was_watched(tmp_path: Path) -> None:
    """Nothing of it in the log then means that none happened."""
    write(tmp_path / "site", HEALTHY)
    words = ("analyze", str(SAMPLE), "-q", "--require", "HOT001", "--select", "HOT001,ONE001")
    assert tracelens(tmp_path, *words).returncode == 1
    assert tracelens(tmp_path, *words, "--recorded-with", "thermometer").returncode == 0


def test_a_pack_that_never_ends_is_ended(tmp_path: Path, recording: Path) -> None:
    """The zoo itself: one command that hangs fails one test, by name."""
    write(tmp_path / "site", both(HEALTHY, check("import time; time.sleep(3600); yield")))
    later = {"TRACELENS_PACK_SECONDS": "4"}  # than the limit: not what ends it
    with pytest.raises(AssertionError, match=r"tracelens analyze .*SIGALRM"):
        tracelens(tmp_path, "analyze", str(recording), limit=3, settings=later)
    assert tracelens(tmp_path, "--version").returncode == 0
