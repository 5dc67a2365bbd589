"""Rules that a pack declares as data: what they find, when they are quiet, and what is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.test_broken_packs import HEALTHY, METADATA, both
from tests.test_packs import RULE_TEST, in_process_of_its_own, rule_tests, write
from tests.warm import tracelens
from tracelens.plugins import regexes, registry
from tracelens.plugins.declared_lines import fill_lines
from tracelens.plugins.declared_rules import fill_rules
from tracelens.rules import Rule

REGEX = r"""
code = "TIL101"
name = "core-spills"
summary = "A core spills its scratchpad."
severity = "warning"
title = "Core {core} spills {bytes} bytes"
message = "Tiles of core {core} do not fit: {count} times."
regex = 'tiler: spill core=(?P<core>\d+) bytes=(?P<bytes>\d+)'
about = ["core"]
evidence = "{bytes} bytes"
switch = "TILER_LOG=1"
why = "What is spilled is read again."
example = "tiler: spill core=3 bytes=8192"

[where]
bytes = ">= 4096"

[absent-unless]
mark = "tiler: compiled "

[[advice]]
text = "Make the tiles of core {core} smaller."
env = "TILER_TILE=16"
"""
MARK = """
code = "TIL102"
name = "tile-fallback"
summary = "An operator falls back."
severity = "info"
title = "{rest} falls back"
message = "It runs outside."
mark = "tiler: fallback "
switch = "TILER_LOG=1"
why = "It leaves the device."
example = "tiler: fallback aten.cumsum"
"""
LARK = '''
code = "TIL103"
name = "odd-layout"
summary = "A layout is odd."
severity = "none"
harmless = "it is small"
title = "{rows}x{columns}"
message = "It is."
mark = "tiler: layout "
lark = """
start: "tiler: layout " ROWS "x" COLUMNS
ROWS: /[0-9]+/
COLUMNS: /[0-9]+/
"""
switch = "TILER_LOG=1"
why = "w"
example = "tiler: layout 3x5"
'''
READS = """
code = "TIL104"
name = "reference-primitive"
summary = "A primitive has a reference implementation."
title = "{primitive} is {impl}"
message = "m"
reads = "onednn_verbose.PrimitiveExec"
about = ["primitive"]
why = "w"
example = "onednn_verbose,..."

[where]
impl = "!= nothing"
"""
FILES = {
    "tiler/rules/core_spills.toml": REGEX,
    "tiler/rules/tile_fallback.toml": MARK,
    "tiler/rules/odd_layout.toml": LARK,
    "tiler/rules/reference_primitive.toml": READS,
    "tiler/tracelens.toml": 'tracelens-api = ">=1,<2"\n',
    "tiler-0.1.dist-info/METADATA": METADATA.replace("heat-pack", "tiler"),
    "tiler-0.1.dist-info/entry_points.txt": "[tracelens.rules]\nmine = tiler.rules\n",
}
LOG = """epoch 1
tiler: compiled f
tiler: spill core=3 bytes=8192
tiler: spill core=3 bytes=8192
tiler: spill core=3 bytes=4096
tiler: spill core=2 bytes=4095
tiler: fallback aten.cumsum
tiler: layout 3x5
"""


def analyzed(root: Path, log: str, *words: str, code: int = 0) -> dict[str, Any]:
    (root / "run.log").write_text(log)
    done = tracelens(root, "analyze", "run.log", "-f", "json", *words)
    assert done.returncode == code, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def verdicts(report: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    found = (v for v in report["verdicts"] if v["code"].startswith("TIL"))
    return {one["code"]: (one["verdict"], one["needs"]) for one in found}


def test_each_form_finds_what_it_declares(tmp_path: Path) -> None:
    write(tmp_path / "site", FILES)
    report = analyzed(tmp_path, LOG)
    found = {one["code"]: one for one in report["findings"]}
    assert [one["code"] for one in report["findings"]].count("TIL101") == 1
    spill = found["TIL101"]
    assert spill["title"] == "Core 3 spills 8192 bytes"
    assert spill["message"] == "Tiles of core 3 do not fit: 3 times."
    assert (spill["count"], spill["severity"]) == (3, "warning")
    assert [(line["line"], line["note"]) for line in spill["evidence"]] == [
        (3, "8192 bytes"),
        (5, "4096 bytes"),
    ]
    assert spill["advice"][0]["text"] == "Make the tiles of core 3 smaller."
    assert spill["advice"][0]["env"] == "TILER_TILE=16"
    assert spill["data"]["fields"] == {"core": 3, "bytes": 8192}
    assert found["TIL102"]["title"] == "aten.cumsum falls back"
    assert (found["TIL103"]["title"], found["TIL103"]["harmless"]) == ("3x5", "it is small")
    assert report["inputs"][0]["kinds"] == {"tiler_lines": 7}
    assert report["coverage"]["understood_lines"] == 7


def test_a_rule_is_absent_quiet_or_fires(tmp_path: Path) -> None:
    write(tmp_path / "site", FILES)
    switch = ["TILER_LOG=1"]
    other = analyzed(tmp_path, "tiler: layout 3x5\n")
    assert verdicts(other)["TIL101"] == ("absent", switch)
    assert verdicts(other)["TIL102"] == ("absent", switch)
    assert verdicts(other)["TIL104"][0] == "absent"
    proven = analyzed(tmp_path, "tiler: compiled f\n")
    assert verdicts(proven)["TIL101"] == ("quiet", [])
    assert verdicts(proven)["TIL102"] == ("absent", switch)
    small = analyzed(tmp_path, "tiler: spill core=2 bytes=4095\n")
    assert verdicts(small)["TIL101"] == ("quiet", [])


def test_rules_share_lines_and_read_those_behind_torchs_prefix(tmp_path: Path) -> None:
    again = MARK.replace("TIL102", "TIL105").replace("tile-fallback", "any-fallback")
    behind = MARK.replace("TIL102", "TIL106").replace("tile-fallback", "logged-fallback")
    behind = behind.replace("switch =", "prefixed = true\nswitch =")
    more = {"tiler/rules/again.toml": again, "tiler/rules/behind.toml": behind}
    write(tmp_path / "site", both(FILES, more))
    line = "V1120 16:11:49.911000 16372 tiler/backend.py:7] [0/1] tiler: fallback aten.sort\n"
    found = analyzed(tmp_path, LOG + line)["findings"]
    told = {one["code"]: one["title"] for one in found if one["code"] in {"TIL102", "TIL105"}}
    assert told == dict.fromkeys(("TIL102", "TIL105"), "aten.cumsum falls back")
    assert [one["title"] for one in found if one["code"] == "TIL106"] == ["aten.sort falls back"]


def test_a_rule_reads_the_records_of_another_log_kind(tmp_path: Path) -> None:
    write(tmp_path / "site", FILES)
    done = tracelens(tmp_path, "analyze", "--sample", "-f", "json", "--select", "TIL104")
    report = json.loads(done.stdout)
    assert {one["code"] for one in report["findings"]} == {"TIL104"}
    assert all("is " in one["title"] for one in report["findings"])


def test_declared_rules_are_listed_explained_and_kept(tmp_path: Path) -> None:
    write(tmp_path / "site", FILES)
    (tmp_path / "run.log").write_text(LOG)
    lines = tracelens(tmp_path, "rules").stdout.splitlines()
    listed = {line.split()[0]: line.split()[-1] for line in lines}
    assert {listed[f"TIL10{number}"] for number in (1, 2, 3, 4)} == {"tiler"}
    page = tracelens(tmp_path, "explain", "TIL101").stdout
    assert "What is spilled is read again." in page
    assert "tiler: spill core=3 bytes=8192" in page
    # Twice in processes of their own: the second one finds the index, and imports by name.
    write(tmp_path, {"pytest.ini": "[pytest]\n"})
    for _ in range(2):
        done = in_process_of_its_own(tmp_path, "analyze", "run.log", "-f", "json")
        assert done.returncode == 0, done.stderr
        codes = [one["code"] for one in json.loads(done.stdout)["findings"]]
        assert codes.count("TIL101") == 1


def test_a_declared_rule_has_the_same_test_as_any_other(tmp_path: Path) -> None:
    others = ("TIL102", "TIL103", "TIL104")
    alone = {name: text for name, text in FILES.items() if not any(one in text for one in others)}
    write(tmp_path / "site", alone)
    folder = "fixtures/rules/TIL101-core-spills"
    write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "tests/test_rules.py": RULE_TEST,
            f"{folder}/fires-large.log": LOG,
            f"{folder}/quiet-small.log": "tiler: spill core=2 bytes=4095\n",
            f"{folder}/absent-off.log": "epoch 1\n",
        },
    )
    done = rule_tests(tmp_path, "--snapshot-update")
    assert done.returncode == 0, done.stdout
    (tmp_path / folder / "quiet-small.log").write_text(LOG)
    assert rule_tests(tmp_path).returncode == 1


#: What is changed in which file, and what is said: the key, and what to write.
WRONG = {
    "no-toml": (REGEX.replace('"TIL101"', "TIL101"), "Invalid value (at line 2"),
    "misspelt-key": (REGEX.replace("title =", "titel ="), "titel: there is no such key (did you"),
    "missing-key": (REGEX.replace("why =", "see-also ="), "why: is missing: write why = "),
    "bad-code": (REGEX.replace("TIL101", "TIL-1"), "code: String should match"),
    "bad-name": (REGEX.replace('"core-spills"', '"Core Spills"'), "name: String should match"),
    "bad-severity": (REGEX.replace('"warning"', '"fatal"'), "severity: Input should be"),
    "unknown-field": (
        REGEX.replace("{core} spills", "{kore} spills"),
        "title: there is no field 'k",
    ),
    "unknown-field-in-where": (REGEX.replace("bytes = ", "byte = ", 1), "where: there is no field"),
    "unknown-field-in-about": (REGEX.replace('["core"]', '["kore"]'), "about: there is no field"),
    "unknown-field-in-advice": (REGEX.replace("TILE=16", "TILE={n}"), "advice 1, env: there is no"),
    "not-a-number": (REGEX.replace(">= 4096", ">= much"), "where.bytes: '>= much': compare with"),
    "two-forms": (REGEX.replace("about", 'mark = "tiler: "\nabout'), "mark: write one of mark"),
    "no-form": (REGEX.replace("regex =", "see-also ="), "mark: write one of mark"),
    "no-switch": (REGEX.replace('switch = "TILER_LOG=1"', ""), "switch: say what prints the lines"),
    "nested-repetition": (
        REGEX.replace(r"(?P<core>\d+)", r"(?P<core>(\d+)+)"),
        "regex: a group is",
    ),
    "dear-regex": (REGEX.replace(r"(?P<core>\d+)", ".*(?P<core>.*)"), "regex: a repetition is"),
    "broken-regex": (REGEX.replace(r"(?P<core>\d+)", r"(?P<core>\d+"), "regex: missing )"),
    "no-literal-start": (REGEX.replace("'tiler: spill", r"'\w+: spill"), "regex: begin it with"),
    "no-example": (REGEX.replace("core=3 bytes=8192", "core=x"), "example: none of its lines"),
    "harmless-without-reason": (REGEX.replace('"warning"', '"none"'), "harmless: say why"),
    "short-mark": (REGEX.replace('mark = "tiler: compiled "', "mark = 7"), "absent-unless.mark"),
    "no-such-kind": (READS.replace("onednn_verbose.P", "onednn_verbos.P"), "reads: no log kind"),
    "no-such-record": (
        READS.replace(".PrimitiveExec", ".PrimitiveEx"),
        "reads: onednn_verbose has",
    ),
    "no-such-record-field": (
        READS.replace("{impl}", "{implementation}"),
        "title: there is no field",
    ),
    "broken-grammar": (LARK.replace('"x" COLUMNS', '"x" COLUMN'), "lark: "),
    "dear-grammar": (
        LARK.replace("ROWS: /[0-9]+/", "ROWS: /([0-9]+)+x?/"),
        "lark: ROWS: a group is",
    ),
    "refused-example": (
        LARK.replace('"tiler: layout 3x5"', '"tiler: layout 3y5"'),
        "example: is not",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_file_key_and_what_to_write(name: str, tmp_path: Path) -> None:
    text, said = WRONG[name]
    assert text not in {REGEX, MARK, LARK, READS}
    write(
        tmp_path, {"rules/wrong.toml": text, "rules/right.toml": MARK.replace("TIL102", "TIL109")}
    )
    files = sorted(tmp_path.glob("rules/*.toml"))
    lines, rules, broken = ModuleType("lines"), ModuleType("rules"), list[str]()
    fill_lines(lines, "tiler", files)
    fill_rules(rules, lines, files, broken, registry._kind)
    assert len(broken) == 1
    assert broken[0].startswith("rules/wrong.toml: ")
    assert said in broken[0]
    made = [one for one in vars(rules).values() if isinstance(one, type) and issubclass(one, Rule)]
    assert [rule.code for rule in made if rule.__module__ == "rules"] == ["TIL109"]


def test_wrong_files_cost_nothing_else(tmp_path: Path) -> None:
    wrong = {f"tiler/rules/{name}.toml": text for name, (text, _) in WRONG.items()}
    write(tmp_path / "site", both(FILES, wrong))
    alone = tracelens(tmp_path, "--no-plugins", "analyze", "--sample", "-f", "json")
    done = tracelens(tmp_path, "analyze", "--sample", "-f", "json")
    assert (alone.returncode, done.returncode) == (0, 3)
    assert "Traceback" not in done.stderr
    told = done.stderr.splitlines()
    assert all(line.startswith("tracelens: tiler: ") for line in told)
    assert [name for name in WRONG if f"rules/{name}.toml" not in done.stderr] == []
    report = json.loads(done.stdout)
    others = [one for one in report["findings"] if one["code"][:3] != "TIL"]
    assert others == json.loads(alone.stdout)["findings"]
    assert {pack["distribution"] for pack in report["broken_packs"]} == {"tiler"}


def test_a_code_or_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    taken = MARK.replace("TIL102", "ONE001").replace("tile-fallback", "reference-kernel-dispatch")
    write(tmp_path / "site", both(HEALTHY, FILES, {"tiler/rules/tile_fallback.toml": taken}))
    done = tracelens(tmp_path, "packs")
    assert done.returncode == 3
    assert "built in" in done.stderr
    assert "ONE001" not in done.stdout.partition("broken")[0]


def test_no_code_in_a_file_is_run(tmp_path: Path) -> None:
    text = MARK.replace("{rest} falls back", "{rest.__class__.__mro__} {0} {rest!r} %s $(touch x)")
    write(tmp_path / "site", both(FILES, {"tiler/rules/tile_fallback.toml": text}))
    report = analyzed(tmp_path, LOG)
    (found,) = [one for one in report["findings"] if one["code"] == "TIL102"]
    assert found["title"] == "{rest.__class__.__mro__} {0} {rest!r} %s $(touch x)"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("pattern", "good"),
    [
        (r"tile: (?P<a>\d+) (?P<b>[a-z]+)", True),
        (r"tile: .*:$", True),
        (r"tile: [^,]*,[^,]*,.*", True),
        (r"tile:(?P<unit> us)?y?", True),
        (r"tile: \w{1,40}-\w{1,40}", True),
        (r"tile: (a+)+$", False),
        (r"tile: (?:a|ab)*", False),
        (r"tile: .*a.*b", False),
        (r"tile: \d+\d+y", False),
        (r"tile: \w{1,40}\w{1,40}b", False),
        (r"tile: (a+|b+)+", False),
        (r"tile: (?=a)b", False),
        (r"tile: (a)\1", False),
        (r"tile: (?>a+)b", False),
        (r"(?i)tile: ", False),
        (r"tile: (?i:A+)a*b", False),
        (r"tile: " + "a?" * 30 + "a" * 30, False),
        (r"tile: é*[^a]*b", False),
        ("tile: (", False),
        ("tile: " + "a" * 600, False),
    ],
)
def test_patterns_take_linear_time_or_are_refused(pattern: str, good: bool) -> None:
    if not good:
        with pytest.raises(ValueError, match=r"\w"):
            regexes.check(pattern)
        return
    compiled = regexes.check(pattern)
    # Far below what anything worse than linear takes for a line of this length.
    for filling in ("a", "1", ",", ":", " ", "a1-", "é"):
        began = time.process_time()
        compiled.match("tile: " + filling * 200_000 + "\0")
        assert time.process_time() - began < 5
