"""What is the user's own, by level: files, lines of code, names; and what of torch stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracelens
from tests.render.test_planted import FORMATS
from tracelens.cli import main
from tracelens.render import Options, Redact, Renderer
from tracelens.render._code import is_code
from tracelens.render._own import LEVELS
from tracelens.render._redact import redact
from tracelens.render.compare.json import render as compared
from tracelens.render.compare.text import render as compared_text
from tracelens.render.text import Text
from tracelens.report import Advice, EvidenceLine, Finding, Report, Severity, Where
from tracelens.report.compare import compare

ROOT = Path(__file__).parents[2]
LOG = ROOT / "fixtures/rules/RCP008-object-identity-guard/fires-function-per-layer.log"
HOME = "/" + "home"
FILE = f"{HOME}/ana/acme/falcon.py"
TORCH = f"{HOME}/ana/v/lib/python3.11/site-packages/torch/nn/modules/linear.py"
ONEDNN = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul,undef,src:f32::blocked:ab,,,1x2,0.1"
)
LINES = (
    f'  File "{FILE}", line 7, in fly_high\n    wings = self.left_wing(span) * 3',
    "    - 0/0: L['cargo'].size(0) == 4  # lift = hefty_sum(cargo)  # acme/falcon.py:9 in fly_high",
    f"# File: {FILE}:11 in forward, code: nest = build_nest(twigs)",
    "        egg_count = lay(eggs, 3)",
    "Recompiling function fly_high in falcon.py:7",
    f'File "{TORCH}", line 125, in forward',
    ONEDNN,
    "@x",
)
#: What must not be seen from a level on.
HIDDEN = {
    "paths": ("falcon.py", "acme"),
    "source": ("wings", "hefty_sum", "build_nest", "egg_count", "crumb", "moult"),
    "all": ("fly_high", "left_wing", "cargo"),
}


@pytest.fixture
def report(reports: dict[str, Report]) -> Report:
    finding = Finding(
        id="RCP008-0a0a0a",
        code="RCP008",
        name="new-object-identity",
        severity=Severity.WARNING,
        title="`fly_high` is compiled again",
        message="acme/falcon.py:7: `wings = self.left_wing(span) * 3`. It was `return crumb` and "
        "`torch._dynamo.config.recompile_limit = 16`, `TORCH_LOGS=recompiles`.",
        where=Where(file=FILE, line=7, function="fly_high"),
        evidence=tuple(EvidenceLine(input="run.log", line=1, text=text) for text in LINES),
        advice=(Advice(id="a", text="Compile it once.", code="step = torch.compile(step)"),),
        data={
            "function": "fly_high",
            "code": "wings = self.left_wing(span) * 3",
            "lines": ["acme/falcon.py:12 moult = shed("],
        },
    )
    return reports["one"].model_copy(update={"findings": (finding,), "tables": {}})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format_", FORMATS, ids=lambda cls: cls.name)
def test_nothing_of_a_level_is_in_any_format(
    format_: type[Renderer], level: Redact, report: Report
) -> None:
    text = format_.render(report, Options(verbose=True, max_chars=10_000_000, redact=level))
    depth = LEVELS.index(str(level)) + 1
    hidden = [word for one in LEVELS[:depth] for word in HIDDEN[one]]
    assert [word for word in hidden if word in text] == []


@pytest.mark.parametrize("level", [True, *LEVELS])
def test_what_a_later_level_hides_stays(level: Redact, report: Report) -> None:
    redacted = redact(report, (), level)[0].to_json()
    later = LEVELS[LEVELS.index(level) + 1 :] if isinstance(level, str) else LEVELS
    wanted = [word for one in later for word in HIDDEN[one]]
    # A name that stood in code alone goes with it.
    wanted = [word for word in wanted if not (level == "source" and word == "left_wing")]
    assert [word for word in wanted if word not in redacted] == []


def test_what_is_torchs_or_ours_stays(report: Report) -> None:
    (finding,) = redact(report, (), "all")[0].findings
    texts = [line.text for line in finding.evidence]
    assert ONEDNN in texts
    assert 'File "<site-packages>/torch/nn/modules/linear.py", line 125, in forward' in texts
    assert "`torch._dynamo.config.recompile_limit = 16`, `TORCH_LOGS=rec" in finding.message
    assert finding.advice[0].code == "step = torch.compile(step)"
    assert (finding.code, finding.severity) == ("RCP008", Severity.WARNING)


def test_equal_things_have_equal_pseudonyms(report: Report) -> None:
    (finding,) = redact(report, (), "all")[0].findings
    assert finding.where is not None
    file, name = finding.where.file, finding.where.function
    assert file.endswith(">.py")
    assert finding.message.startswith(f"{file}:7: `<code")
    assert f"Recompiling function {name} in {file}:7" in [line.text for line in finding.evidence]
    assert finding.title == f"`{name}` is compiled again"


@pytest.mark.parametrize("name", ["warning", "high", "quiet", "run1", "RCP008", "torch", "x", "if"])
def test_a_function_called_like_a_word_of_ours_breaks_nothing(name: str, report: Report) -> None:
    finding = report.findings[0].model_copy(
        update={"where": Where(file=FILE, line=7, function=name), "data": {"function": name}}
    )
    redacted = redact(report.model_copy(update={"findings": (finding,)}), (), "all")[0]
    (found,) = redacted.findings
    assert (found.severity, found.code) == (finding.severity, "RCP008")
    assert [one.verdict for one in redacted.verdicts] == [one.verdict for one in report.verdicts]


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("    return self.fc(x)", True),
        ("for x in rows:", True),
        ("else:", True),
        ("@torch.compile", True),
        ("loss = a @ b", True),
        ("epoch 1 loss 0.3", False),
        ("Graph break in user code at a.py:3", False),
        ("forward", False),
        ("3.5", False),
        (ONEDNN, False),
        ("  | +- TYPE_MATCH: ___check_type_id(x, 1)", False),
    ],
)
def test_a_line_of_code_is_told_by_its_form(line: str, is_one: bool) -> None:
    assert is_code(line) is is_one


def test_a_real_log_without_the_users_own() -> None:
    found = tracelens.analyze(str(LOG))
    text = Text.render(found, Options(redact="all", verbose=True, width=300))
    plain = Text.render(found, Options(verbose=True, width=300))
    for word in ("attend", "processor", "rcp_modules", LOG.parent.name):
        assert word in plain
        assert word not in text
    assert "___check_obj_id(<name" in text


def test_a_comparison_has_levels_too(report: Report) -> None:
    found = compare([report, report.model_copy(update={"findings": ()})])
    for text in (
        compared(found, Options(redact="all")),
        compared_text(found, Options(redact="all")),
    ):
        assert [word for one in LEVELS for word in HIDDEN[one] if word in text] == []


def test_the_option_takes_a_level(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["analyze", str(LOG), "-f", "json"]
    for options in (["--redact=all"], ["--redact", "--redact=paths", "--redact=all"]):
        assert main([*given, *options]) == 0
        assert "attend" not in json.loads(capsys.readouterr().out)["findings"][0]["title"]
    assert main([*given, "--redact"]) == 0
    assert "attend" in json.loads(capsys.readouterr().out)["findings"][0]["title"]
    assert main([*given, "--redact=some"]) == 2
    assert (
        "--redact=some: no such level. Hint: one of paths, source, all" in capsys.readouterr().err
    )
    (tmp_path / "pyproject.toml").write_text('[tool.tracelens]\nredact = "all"\n')
    assert main(given) == 0
    assert "attend" not in json.loads(capsys.readouterr().out)["findings"][0]["title"]
