"""The command line: what it writes where, and with which exit code it ends."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import msgspec
import pytest

from tracelens import __version__
from tracelens.cli import main
from tracelens.cli._app import command as command_line
from tracelens.cli._terminal import Progress
from tracelens.evidence.tables import Table
from tracelens.fleet import tasks
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.plugins import manifest
from tracelens.plugins.facts import RuleFacts
from tracelens.report import Finding, Severity
from tracelens.rules import Rule

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"
TRACELENS = (sys.executable, "-c", "import sys, tracelens.cli as cli; sys.exit(cli.main())")
#: What a process may take that takes a second or two on an idle machine.
LIMIT_S = 300
NO_ONEDNN = ROOT / "fixtures" / "logs" / "recompiles" / "fn-x-n.log"


class SlowLayer(Rule):
    """A layer is slow.

    ## Why it matters
    It takes ``long``, which is a sentence that is long enough to be wrapped in a terminal.

    ## What it looks like
        onednn_verbose,v1,primitive,exec
    """

    code = "TST001"
    name = "slow-layer"

    def check(self, execs: Table[PrimitiveExec]) -> Iterator[Finding]:
        """Accuse the first execution."""
        for seen in list(execs)[:1]:
            yield self.finding(
                "first", title="Slow", message="It is slow.", evidence=[seen.quote()]
            )


class BrokenRule(SlowLayer):
    """A rule with a bug."""

    code = "TST002"
    name = "broken-rule"

    def check(self, execs: Table[PrimitiveExec]) -> Iterator[Finding]:
        """Divide by nothing."""
        yield self.finding(1 // 0, title=f"{execs}", message="")


class HarmlessThing(SlowLayer):
    """A note."""

    code = "TST003"
    name = "harmless-thing"
    severity = Severity.NONE


class FixedLayer(SlowLayer):
    """The same rule, satisfied."""

    name = "slow-layer"

    def check(self, execs: Table[PrimitiveExec]) -> Iterator[Finding]:
        """Find nothing."""
        del execs
        yield from ()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return a function that runs a command in an empty folder, and gives (code, out, err)."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes some rules the installed ones."""

    def install(*wanted: type[Rule]) -> None:
        facts = tuple(RuleFacts.read(rule()) for rule in wanted)
        installed = msgspec.structs.replace(manifest.current(), rules=facts)
        monkeypatch.setattr(manifest, "current", lambda: installed)

    return install


def process(*words: object, stdin: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [*TRACELENS, *map(str, words)],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=LIMIT_S,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# As a process.


def test_a_log_on_standard_input_is_analyzed() -> None:
    code, out, err = process("analyze", "-", "-f", "json", stdin=SAMPLE.read_bytes())
    assert (code, err) == (0, "")
    assert json.loads(out)["inputs"][0]["path"] == "-"


def test_the_installed_command_has_the_version() -> None:
    command = Path(sys.executable).with_name("tracelens")
    done = subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=True, timeout=LIMIT_S
    )
    assert done.stdout == f"tracelens {__version__}\n"


def test_an_error_is_one_line_and_no_traceback() -> None:
    code, out, err = process("analyze", "no-such.log")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("tracelens: no-such.log: ")


@pytest.mark.skipif(os.name == "nt", reason="pipes of another kind")
@pytest.mark.parametrize("words", ["analyze --sample -f json", "rules -f json", "schema", "--help"])
def test_a_reader_that_goes_away_is_no_error(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*TRACELENS, *words.split()],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=LIMIT_S,
        )
    finally:
        os.close(writer)
    assert done.stderr == b""


# Exit codes.


def test_findings_are_no_failure_unless_asked(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer)
    assert run("analyze", SAMPLE)[0] == 0


@pytest.mark.parametrize(("bar", "code"), [("never", 0), ("error", 0), ("warning", 1), ("info", 1)])
def test_a_finding_at_or_above_the_bar_exits_1(
    run: Run, rules: Callable[..., None], bar: str, code: int
) -> None:
    rules(SlowLayer)
    assert run("analyze", SAMPLE, "--fail-on", bar)[0] == code


def test_a_harmless_finding_is_below_every_bar(run: Run, rules: Callable[..., None]) -> None:
    rules(HarmlessThing)
    assert run("analyze", SAMPLE, "--fail-on", "info")[0] == 0


def test_an_ignored_finding_is_below_every_bar(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer)
    words = ("analyze", SAMPLE, "--fail-on", "info", "--ignore", "slow-layer", "-f", "json")
    code, out, _ = run(*words)
    assert code == 0
    assert json.loads(out)["findings"][0]["ignored"] == "ignored on the command line"


def test_required_evidence_that_is_absent_exits_1(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer, HarmlessThing)
    code, _, err = run("analyze", NO_ONEDNN, "--require", "TST001")
    assert code == 1
    assert "TST001 slow-layer" in err
    assert "ONEDNN_VERBOSE" in err
    assert "TST003" not in err
    assert run("analyze", SAMPLE, "--require", "TST001,TST003")[0] == 0


def test_any_absent_evidence_exits_1_when_asked(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer, HarmlessThing)
    code, _, err = run("analyze", NO_ONEDNN, "--fail-on-absent")
    assert code == 1
    assert err.count("no evidence for") == 2


def test_to_require_a_rule_that_is_not_asked_is_misuse(
    run: Run, rules: Callable[..., None]
) -> None:
    rules(SlowLayer, HarmlessThing)
    code, _, err = run("analyze", SAMPLE, "--select", "TST003", "--require", "TST001")
    assert code == 2
    assert "not among the selected rules" in err


def test_a_crashed_rule_exits_3_after_the_report(run: Run, rules: Callable[..., None]) -> None:
    rules(BrokenRule, SlowLayer)
    code, out, err = run("analyze", SAMPLE, "-f", "json")
    assert code == 3
    assert [finding["code"] for finding in json.loads(out)["findings"]] == ["TST001"]
    assert err.startswith("tracelens: TST002 broken-rule crashed: ZeroDivisionError")


def test_a_refused_text_exits_2_only_when_strict(
    run: Run, rules: Callable[..., None], tmp_path: Path
) -> None:
    rules(SlowLayer)
    log = tmp_path / "bad.log"
    log.write_bytes(SAMPLE.read_bytes() + b"onednn_verbose,v1,primitive,exec,cpu,((,\n")
    assert run("analyze", log)[0] == 0
    code, _, err = run("analyze", log, "--strict")
    assert code == 2
    assert "--strict: 1 line refused by a grammar, first onednn_verbose at line 207: " in err


def test_an_unexpected_error_is_one_line_and_exits_3(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object, **__: object) -> None:
        raise KeyError("missing")

    monkeypatch.setattr(tasks, "judge", explode)
    code, out, err = run("analyze", SAMPLE)
    assert (code, out) == (3, "")
    assert err.startswith("tracelens: internal error: KeyError: 'missing' (")
    assert err.endswith("Hint: --debug shows the traceback\n")
    assert err.count("\n") == 1
    assert "Traceback (most recent call last)" in run("analyze", SAMPLE, "--debug")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", ""),
        ("analyse x", "No such command 'analyse'"),
        ("analyze", "no input"),
        ("analyze x.log --sample", "--sample is an input of its own"),
        ("analyze --nonsense", "--nonsense"),
        ("analyze --sample -f htlm", "did you mean html"),
        ("analyze --sample -o report.pdf", "no format has the suffix '.pdf'"),
        ("analyze --sample -o nowhere/report.md", "nowhere is not a directory"),
        ("analyze --sample --fail-on high", "--fail-on: input should be 'error', 'warning'"),
        ("analyze --sample --select NOPE", "no rule matches 'NOPE'"),
        ("analyze --sample --ignore NOPE", "no rule matches 'NOPE'"),
        ("analyze --sample --require NOPE", "no rule matches 'NOPE'"),
        ("analyze --sample --max-chars 0", "--max-chars: input should be greater than 0"),
        ("analyze --sample --max-chars many", "--max-chars"),
        ("analyze --sample --jobs 0", "--jobs: input should be greater than 0"),
        ("analyze --sample --as nonsense", "no log kind 'nonsense'"),
        ("analyze --sample --baseline none.json", "none.json: No such file"),
        ("analyze --sample --color sometimes", "--color"),
        ("explain", "RULE"),
        ("explain log-incomplet", "did you mean log-incomplete"),
        ("rules -f xml", "--format"),
        ("render none.json", "none.json: No such file"),
    ],
)
def test_misuse_exits_2_with_one_line(run: Run, words: str, said: str) -> None:
    code, _, err = run(*words.split())
    assert code == 2
    assert said in err
    assert err.count("\n") == (1 if words else 0)
    assert "Traceback" not in err


# What is recognised.


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"epoch 1 loss 0.3\nepoch 2 loss 0.2\n", "plain program output"),
        (b"epoch 1\n  Traceback (most recent call last):\n", "a program that failed"),
        (b"import torch\n\nmodel = torch.nn.Linear(4, 4)\n", "a Python program"),
        (b"<!DOCTYPE html>\n<html><body>log</body></html>", "an HTML page"),
        (b'{"loss": 0.3}', "JSON, but neither a trace nor a report"),
        (b'{"schema_version": 1, "tool": {"name": "tracelens"}}', "a report of tracelens"),
        (b'{"cells": [{"cell_type": "code"}]}', "a Jupyter notebook"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"PK\x03\x04" + b"\0" * 26 + b"archive/data.pkl", "a PyTorch checkpoint"),
        (b"PK\x03\x04" + b"\0" * 26 + b"readme.txt" + b"\0" * 90, "a zip archive"),
        (b"\x80\x02}q\0.", "a Python pickle"),
        (b"\x10\0\0\0\0\0\0\0" + b'{"weight":{"dtype":"F32"}}', "safetensors"),
        (b"\x7fELF\x02\x01\x01\0", "an executable"),
        (b"\x93NUMPY\x01\0", "a NumPy array"),
        (bytes(range(256)) * 8, "binary data"),
        (gzip.compress(b"epoch 1 loss 0.3\n", mtime=0), "plain program output"),
        (gzip.compress(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", mtime=0), "a PNG image"),
        ("epoch 1 loss 0.3\n".encode("utf-16"), "plain program output"),
    ],
)
def test_an_input_without_anything_known_says_what_it_is(
    run: Run, tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "input.bin"
    file.write_bytes(content)
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert said in err
    assert str(file) in err
    assert "Hint: " in err


def test_plain_output_names_the_switches_that_would_help(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("step 1\n")
    assert 'TORCH_LOGS="' in run("analyze", file)[2]
    assert "ONEDNN_VERBOSE=1" in run("analyze", file)[2]


def test_many_inputs_without_anything_known_are_named_briefly(run: Run, tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"rank{number}.log").write_text("step 1\n")
    _, _, err = run("analyze", tmp_path)
    assert err.count("plain program output") == 3
    assert "and 6 more" in err


def test_one_known_input_among_others_is_enough(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1\n")
    assert run("analyze", SAMPLE, tmp_path / "train.log")[0] == 0


def test_text_without_marks_is_read_as_the_kind_that_is_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cut.txt"
    lines = SAMPLE.read_text().splitlines()
    execs = [line for line in lines if ",primitive,exec,cpu," in line]
    file.write_text("\n".join(execs) + "\n")
    code, out, _ = run("analyze", file, "--as", "onednn_verbose", "-f", "json")
    assert code == 0
    assert json.loads(out)["inputs"][0]["kinds"] == {"onednn_verbose": len(execs)}


def test_text_that_the_named_kind_refuses_is_an_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "prose.txt"
    file.write_text("It was a dark and stormy night.\n")
    code, _, err = run("analyze", file, "--as", "onednn_verbose")
    assert code == 2
    assert f"{file}:1: not onednn_verbose: " in err


# What is written, and where.


def test_the_sample_is_found(run: Run) -> None:
    code, out, err = run("analyze", "--sample")
    assert (code, err) == (0, "")
    assert SAMPLE.name in out


def test_one_run_writes_several_formats(run: Run, tmp_path: Path) -> None:
    words = ("analyze", "--sample", "-o", "r.json", "-o", "r.md", "-o", "r.html", "-o", "r.txt")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json", "r.md", "r.txt"]
    assert out, "the text summary stands on standard output"
    assert json.loads((tmp_path / "r.json").read_text())["schema_version"] == 1
    assert (tmp_path / "r.html").read_text().lower().startswith("<!doctype html>")


def test_the_format_of_standard_output_is_chosen(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("analyze", "--sample", "-f", "json", "-o", "r.json")
    assert out == (tmp_path / "r.json").read_text()


def test_quiet_writes_only_what_was_asked_for(run: Run, tmp_path: Path) -> None:
    brief = run("analyze", "--sample", "-q")[1].splitlines()
    assert brief
    assert all(re.match(r"\S+:\d+: [A-Z]{3}\d{3} \w+: ", line) for line in brief)
    assert run("analyze", "--sample", "-q", "-o", "r.json")[1] == ""
    assert run("analyze", "--sample", "-q", "-o", "-", "-o", "r.md")[1] != ""
    assert json.loads(run("analyze", "--sample", "-q", "-f", "json")[1])
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "r.md"}


def test_verbose_says_more(run: Run) -> None:
    assert len(run("analyze", "--sample", "-v")[1]) > len(run("analyze", "--sample")[1])


def test_an_input_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.txt"
    log.write_bytes(SAMPLE.read_bytes())
    code, _, err = run("analyze", log, "-o", log)
    assert code == 2
    assert "overwritten" in err
    assert log.read_bytes() == SAMPLE.read_bytes()


def test_a_folder_gets_the_usual_formats(run: Run, tmp_path: Path) -> None:
    assert run("analyze", "--sample", "-q", "-o", "out/")[0] == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"report.html", "report.md", "report.json"}


def test_a_format_is_called_by_its_suffix_as_well(run: Run) -> None:
    assert run("analyze", "--sample", "-f", "md") == run("analyze", "--sample", "-f", "markdown")


def test_a_file_that_cannot_be_written_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.md").mkdir()
    code, _, err = run("analyze", "--sample", "-o", "r.md")
    assert (code, err) == (2, "tracelens: r.md: is a directory.\n")


@pytest.mark.parametrize(
    ("words", "environment", "colored"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color=always",), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_written_when_it_is_wanted(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    environment: dict[str, str],
    colored: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in run("explain", "LOG001", *words)[1]) is colored
    assert ("\x1b[" in run(*words, "explain", "LOG001")[1]) is colored


def test_names_are_hidden_or_shown_as_asked(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(SAMPLE.read_bytes())
    run("analyze", log, "-q", "-o", "r.json", "--no-redact")
    data = (tmp_path / "r.json").read_text().replace(str(log), "/home/ana/proj/run.log")
    (tmp_path / "r.json").write_text(data)
    assert "/home/ana" not in run("render", "r.json", "-f", "markdown")[1]
    assert "~/proj/run.log" in run("render", "r.json")[1]
    assert "/home/ana/proj/run.log" in run("render", "r.json", "--no-redact")[1]
    assert "/home/ana" in run("render", "r.json", "-f", "markdown", "--no-redact")[1]
    assert "/home/ana" not in run("render", "r.json", "-f", "json", "--redact")[1]


def test_markdown_keeps_to_its_budget(run: Run) -> None:
    assert len(run("analyze", "--sample", "-f", "markdown", "--max-chars", "900")[1]) <= 900


# Choosing rules; the project's settings.


def test_rules_are_selected_by_prefix_and_name(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer, BrokenRule, HarmlessThing)

    def asked(*words: str) -> list[str]:
        out = run("analyze", SAMPLE, "-f", "json", *words)[1]
        return [verdict["code"] for verdict in json.loads(out)["verdicts"]]

    assert asked() == ["TST001", "TST002", "TST003"]
    assert asked("--select", "slow-layer") == ["TST001"]
    assert asked("--select", "tst001,TST003") == ["TST001", "TST003"]
    assert asked("--select", "TST001", "--select", "TST003") == ["TST001", "TST003"]
    assert asked("--select", "TST001", "--extend-select", "TST002") == ["TST001", "TST002"]
    assert asked("--extend-select", "TST002") == ["TST001", "TST002", "TST003"]


def test_the_nearest_project_settings_are_used(
    run: Run, rules: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(SlowLayer, HarmlessThing)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tracelens]\nselect = ["TST001"]\nfail-on = "warning"\n'
    )
    below = tmp_path / "src" / "deep"
    below.mkdir(parents=True)
    (tmp_path / "src" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    monkeypatch.chdir(below)
    code, out, _ = run("analyze", SAMPLE, "-f", "json")
    assert code == 1
    assert [verdict["code"] for verdict in json.loads(out)["verdicts"]] == ["TST001"]
    assert run("analyze", SAMPLE, "--fail-on", "error")[0] == 0
    assert run("analyze", SAMPLE, "--select", "TST003")[0] == 0


def test_an_ignore_of_the_project_carries_its_reason(
    run: Run, rules: Callable[..., None], tmp_path: Path
) -> None:
    rules(SlowLayer)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tracelens.ignore]\nTST001 = "known, waits for 2.12"\n'
    )
    finding = json.loads(run("analyze", SAMPLE, "-f", "json")[1])["findings"][0]
    assert finding["ignored"] == "known, waits for 2.12"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.tracelens]\nselct = []", "[tool.tracelens] selct: no such setting"),
        ("[tool.tracelens]\nselct = []", "did you mean select"),
        ("[tool.tracelens]\nfail-on = 3", "[tool.tracelens] fail-on: "),
        ("[tool.tracelens]\nignore = ['X']", "[tool.tracelens] ignore: "),
        ("[tool]\ntracelens = 3", "[tool.tracelens] is not a table"),
        ("[tool.tracelens", "pyproject.toml: "),
    ],
)
def test_broken_project_settings_are_misuse(run: Run, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    code, _, err = run("analyze", "--sample")
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


# A baseline.


def test_what_a_baseline_has_is_ignored_and_what_is_fixed_is_named(
    run: Run, rules: Callable[..., None]
) -> None:
    rules(SlowLayer)
    run("analyze", SAMPLE, "-q", "-o", "base.json")
    code, out, err = run(
        "analyze", SAMPLE, "--baseline", "base.json", "--fail-on", "info", "-f", "json"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["findings"][0]["ignored"] == "known in base.json"
    run("analyze", NO_ONEDNN, "-q", "-o", "empty.json")
    assert run("analyze", SAMPLE, "--baseline", "empty.json", "--fail-on", "info")[0] == 1


def test_a_finding_without_evidence_now_does_not_count_as_fixed(
    run: Run, rules: Callable[..., None]
) -> None:
    rules(SlowLayer)
    run("analyze", SAMPLE, "-q", "-o", "base.json")
    assert run("analyze", NO_ONEDNN, "--baseline", "base.json")[2] == ""
    rules(FixedLayer)
    words = ("analyze", SAMPLE, "--baseline", "base.json", "-q")
    assert run(*words)[2].startswith("tracelens: fixed since base.json: TST001-")


# Saved reports.


def test_a_saved_report_renders_as_the_analysis_did(run: Run) -> None:
    run("analyze", "--sample", "-q", "-o", "r.json", "-o", "r.html", "-o", "r.md")
    assert run("render", "r.json", "-f", "html")[1] == Path("r.html").read_text()
    assert run("render", "r.json", "-q", "-o", "again.md")[1] == ""
    assert Path("again.md").read_bytes() == Path("r.md").read_bytes()


def test_a_report_comes_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = run("analyze", "--sample", "-f", "json")[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(saved.encode())))
    assert run("render", "-", "-f", "json")[:2] == (0, saved)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 2}, "schema version 2, written by tracelens 9.9"),
        ({"schema_version": 2}, "Hint: pip install torch-tracelens==9.9"),
        ({"schema_version": None}, "schema version None"),
        ({"findings": 3}, "findings: "),
        ({"invented": 3}, "invented: "),
        ({"invented": 3}, "it was written by tracelens 9.9"),
    ],
)
def test_a_report_of_another_version_is_refused(
    run: Run, change: dict[str, object], said: str
) -> None:
    saved = json.loads(run("analyze", "--sample", "-f", "json")[1])
    saved["tool"]["version"] = "9.9"
    Path("r.json").write_text(json.dumps(saved | change))
    code, out, err = run("render", "r.json")
    assert (code, out) == (2, "")
    assert err.startswith("tracelens: r.json: ")
    assert said in err


@pytest.mark.parametrize("text", ["", "[]", "{}", "no", "[" * 100_000, '"\ud800"'])
def test_what_is_no_report_is_refused(run: Run, text: str) -> None:
    Path("r.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    code, out, err = run("render", "r.json")
    assert (code, out, err.count("\n")) == (2, "", 1)


# Explaining.


def test_a_rule_is_explained_by_code_or_name(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer)
    code, out, _ = run("explain", "tst001")
    assert code == 0
    assert out == run("explain", "Slow-Layer")[1]
    assert out.startswith("TST001 slow-layer\n")
    assert "needs     ONEDNN_VERBOSE" in out
    assert "reads     PrimitiveExec\n" in out
    assert "It takes `long`, which is" in out
    assert "\n    onednn_verbose,v1,primitive,exec\n" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_rules_page_is_markdown_on_request(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer)
    page = run("explain", "TST001", "-f", "markdown")[1]
    assert page.startswith("# TST001 slow-layer\n\n- severity: warning")
    assert "\n## Why it matters\n" in page


def test_the_rules_are_listed(run: Run, rules: Callable[..., None]) -> None:
    rules(SlowLayer, HarmlessThing)
    lines = run("rules")[1].splitlines()
    assert lines[0].split() == ["CODE", "NAME", "SEVERITY", "READS", "NEEDS", "ORIGIN"]
    assert lines[1].startswith("TST001  slow-layer      warning   PrimitiveExec  ONEDNN_VERBOSE=1")
    assert [entry["code"] for entry in json.loads(run("rules", "-f", "json")[1])] == [
        "TST001",
        "TST003",
    ]
    assert "| TST001 | slow-layer | warning |" in run("rules", "--format", "markdown")[1]


def test_words_of_a_message_need_no_quotes(run: Run) -> None:
    code, out, _ = run("explain", "graph", "break", "in", "loop")
    assert code == 0
    assert out.startswith("GBR006 break-in-loop-skips-frame")
    assert out == run("explain", "graph break in loop")[1]


def test_words_that_stand_apart_find_a_page_too(run: Run) -> None:
    code, out, _ = run("explain", "graph break item")
    assert code == 0
    assert out.startswith("GBR001 scalar-from-tensor")
    for words in ("xyzzy", "graph xyzzy"):
        assert run("explain", words)[0] == 2


def test_every_installed_rule_can_be_explained(run: Run) -> None:
    for entry in json.loads(run("rules", "-f", "json")[1]):
        code, out, _ = run("explain", entry["code"])
        assert code == 0
        assert entry["name"] in out


def test_the_schema_describes_reports(run: Run) -> None:
    schema = json.loads(run("schema")[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(run("analyze", "--sample", "-f", "json")[1]), schema)


def test_the_schema_is_the_published_one(run: Run) -> None:
    published = (ROOT / "docs" / "schema.json").read_text(encoding="utf-8")
    assert run("schema")[1] == published, "tracelens schema > docs/schema.json"


# Progress, and the documentation.


def test_progress_is_shown_on_a_terminal_after_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "big.log"
    log.write_bytes(b"x" * 3_000_000)
    assert Progress.on_terminal([str(log)]) is None, "standard error is no terminal here"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress.on_terminal([str(log), "-"])
    assert progress is not None
    progress(1_000_000)
    progress.clear()
    assert capsys.readouterr().err == ""
    progress._next = 0.0
    progress(1_000_000)
    progress.clear()
    assert re.fullmatch(
        r"\r\x1b\[Kread 2 of 3 MB, [\d,]+ MB/s(, \d+ s left)?\r\x1b\[K", capsys.readouterr().err
    )


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield every command and its options, as typer builds them."""
    group = command_line()
    yield "tracelens", [name for parameter in group.params for name in parameter.opts]
    for name, command in group.commands.items():
        options = [o for p in command.params for o in (*p.opts, *p.secondary_opts)]
        yield f"tracelens {name}", [option for option in options if option.startswith("-")]


@pytest.mark.parametrize(
    ("command", "options"), list(commands()), ids=lambda value: str(value)[:24]
)
def test_every_command_and_option_is_documented(command: str, options: list[str]) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")
    section = next((text for text in sections if text.startswith(f"`{command}`")), "")
    assert section, f"docs/cli.md has no section on {command}"
    assert [option for option in options if f"`{option}" not in section] == []


# Manners.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("analyze --sample --select ONNE001", "did you mean ONE001"),
        ("analyze --sample --ignore referense-kernel-dispatch", "did you mean reference-kernel"),
        ("explain ONE01", "did you mean ONE001?"),
        ("analyze --sample --fail-on warnin", "did you mean warning?"),
        ("analyze --sample -f makrdown", "did you mean markdown?"),
    ],
)
def test_a_slip_gets_the_word_that_was_meant(words: str, said: str) -> None:
    done = tracelens(*words.split())
    assert done.returncode == 2
    assert said in done.stderr


def tracelens(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracelens", *words]
    env = os.environ | environment
    return subprocess.run(
        command, capture_output=True, text=True, env=env, check=False, timeout=LIMIT_S
    )


def test_the_environment_sets_what_the_command_line_does_not() -> None:
    bar = {"TRACELENS_FAIL_ON": "error"}
    assert tracelens("analyze", "--sample", "-q", **bar).returncode == 1
    assert tracelens("analyze", "--sample", "-q", "--fail-on", "never", **bar).returncode == 0
    ignored = tracelens("analyze", "--sample", "-q", TRACELENS_IGNORE="ONE001", **bar)
    assert (ignored.returncode, ignored.stdout) == (0, "")
    wrong = tracelens("analyze", "--sample", TRACELENS_JOBS="many")
    assert wrong.returncode == 2
    assert "TRACELENS_JOBS" in wrong.stderr
    assert tracelens("analyze", "--sample", TRACELENS_STRICT="perhaps").returncode == 2


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("TRACELENS_FORMAT", "say --format"),
        ("TRACELENS_FAILON", "did you mean TRACELENS_FAIL_ON?"),
        ("TRACELENS_SEVERITY", "it is a table, for pyproject.toml"),
    ],
)
def test_a_variable_that_looks_like_a_setting_and_is_none_is_told(variable: str, hint: str) -> None:
    said = tracelens("analyze", "--sample", "-q", **{variable: "json"})
    assert said.returncode == 0
    assert said.stderr == f"tracelens: {variable} is no setting, and is not read. Hint: {hint}\n"
    assert said.stdout == tracelens("analyze", "--sample", "-q").stdout


@pytest.mark.parametrize(
    "variable",
    ["ROOT", "BASELINE", "LOGS", "COMMAND", "SARIF", "CORPUS", "BROWSER", "PACK_SECONDS", "WHOLE"],
)
def test_variables_of_other_use_are_nobodys_business(variable: str) -> None:
    said = tracelens("analyze", "--sample", "-q", **{f"TRACELENS_{variable}": "1"})
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("words", ["analyze --sample", "--help", "rules"])
def test_a_full_disk_is_one_line(words: str) -> None:
    command = [sys.executable, "-m", "tracelens", *words.split()]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_settings_and_comparisons_have_schemas(run: Run) -> None:
    for name in ("settings", "comparison"):
        jsonschema.Draft202012Validator.check_schema(json.loads(run("schema", name)[1]))
    schema = json.loads(run("schema", "settings")[1])
    jsonschema.validate({"fail-on": "warning", "select": ["ONE"]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"fail-onn": "warning"}, schema)
    schema = json.loads(run("schema", "comparison")[1])
    found = json.loads(run("compare", SAMPLE, SAMPLE, "-f", "json")[1])
    jsonschema.validate(found, schema)


def test_help_has_groups_and_an_example_of_every_command(run: Run) -> None:
    for name in command_line().commands:
        out = run(name, "--help")[1]
        assert "\nExamples:\n" in out, name
        assert max(map(len, out.splitlines())) <= 100
    groups = [
        line for line in run("analyze", "-h")[1].splitlines() if re.match(r"[A-Z][\w ]+:$", line)
    ]
    wanted = ["What to read:", "What to look for:", "When to fail:", "What to write:"]
    assert groups == ["Arguments:", *wanted, "Others:", "Examples:"]


def test_the_manual_page_has_every_option(run: Run) -> None:
    page = run("man")[1]
    assert page.startswith(".TH TRACELENS 1")
    for name, options in commands():
        assert name == "tracelens" or f'.SS "{name}"' in page
        for option in options if name != "tracelens" else ():
            assert option.replace("-", r"\-") in page, (name, option)
    assert not [line for line in page.splitlines() if line.startswith("'")]


def test_a_page_is_opened_when_that_is_asked_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run("analyze", "--sample", "-q")[0] == 0
    assert opened == []
    assert run("analyze", "--sample", "-q", "--open", "-o", "page.html")[0] == 0
    assert opened == [(tmp_path / "page.html").resolve().as_uri()]
    assert run("compare", SAMPLE, SAMPLE, "-q", "--open")[0] == 0
    page = Path(opened[1].removeprefix("file://"))
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_watching_shows_only_what_is_different(tmp_path: Path) -> None:
    log, whole = tmp_path / "run.log", SAMPLE.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:150]))
    command = [sys.executable, "-u", "-m", "tracelens", "analyze", str(log), "--watch"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        timer = threading.Timer(60, child.kill)
        timer.start()
        assert child.stdout is not None
        while "understood" not in (line := child.stdout.readline()) and line:
            pass
        log.write_bytes(whole)
        while not (line := child.stdout.readline()).startswith("new: ") and line:
            pass
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=LIMIT_S)[0]
        timer.cancel()
    assert line.startswith("new: ONE001 ")
    assert "ONE001" not in rest
    assert child.returncode == 0


def test_watching_waits_for_a_log_and_reads_one_that_never_rests(tmp_path: Path) -> None:
    """A program that logs all the time is told about while it runs, not when it has ended."""
    log, lines = tmp_path / "run.log", SAMPLE.read_bytes().splitlines(keepends=True)
    command = [sys.executable, "-u", "-m", "tracelens", "analyze", str(log), "--watch"]
    over = threading.Event()

    def write() -> None:
        log.write_bytes(b"".join(lines[:150]))
        over.wait(4)
        log.write_bytes(b"".join(lines))
        while not over.wait(0.3):
            with log.open("ab") as file:
                file.write(b"epoch\n")

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        timer = threading.Timer(90, child.kill)
        timer.start()
        assert child.stdout is not None
        assert child.stderr is not None
        waits = child.stderr.readline()
        writer = threading.Thread(target=write)
        writer.start()
        while not (line := child.stdout.readline()).startswith(("new: ", "error[")) and line:
            pass
        is_written = writer.is_alive()
        over.set()
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_S)
        timer.cancel()
        writer.join(timeout=LIMIT_S)
    assert "no such file or directory; waiting for it. Hint: Ctrl-C ends" in waits
    assert "ONE001" in line
    assert is_written


def test_markdown_can_be_split_with_nothing_left_out(run: Run, tmp_path: Path) -> None:
    words = ("analyze", "--sample", "-q", "--split", "--max-chars", "3000", "-o", "r.md")
    assert run(*words)[0] == 0
    pages = sorted(tmp_path.glob("r*.md"))
    assert len(pages) > 1
    texts = [page.read_text() for page in pages]
    assert max(map(len, texts)) <= 3000
    assert "Left out" not in "".join(texts)
    assert "ONE001" in "".join(texts)
