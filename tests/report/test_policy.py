"""What a project decides: ignores, severities, budgets, and the policies that it extends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tracelens.cli import main

ROOT = Path(__file__).parents[2]
BREAKS = ROOT / "fixtures" / "logs" / "graph_breaks" / "many-breaks.log.gz"
SAMPLE = ROOT / "fixtures" / "logs" / "samples" / "aarch64-bf16-linear.log"
RECOMPILES = ROOT / "fixtures" / "logs" / "recompiles" / "fn-x-n.log"

Judge = Callable[..., tuple[int, list[dict[str, str]], str]]


@pytest.fixture
def judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judge:
    """Analyze a log in a project with these settings."""
    monkeypatch.chdir(tmp_path)

    def run(
        settings: str, log: Path = BREAKS, *words: str
    ) -> tuple[int, list[dict[str, str]], str]:
        (tmp_path / "pyproject.toml").write_text(f"[tool.tracelens]\n{settings}")
        code = main(["analyze", str(log), "-f", "json", *words])
        out, err = capsys.readouterr()
        return code, json.loads(out)["findings"] if out else [], err

    return run


def ignored(findings: list[dict[str, str]]) -> dict[str, str]:
    return {finding["id"]: finding["ignored"] for finding in findings if finding["ignored"]}


@pytest.mark.parametrize(
    ("terms", "ids"),
    [
        ('id = "GBR003-aaba0c"', {"GBR003-aaba0c"}),
        ('rule = "GBR001"', {"GBR001-992c88", "GBR001-d16699"}),
        ('rule = "scalar-from-tensor"', {"GBR001-992c88", "GBR001-d16699"}),
        ('rule = "GBR001"\nid = "GBR001-992c88"', {"GBR001-992c88"}),
        ('rule = "GBR001"\nid = "GBR003-aaba0c"', set()),
        ('rule = "GBR001"\npath = "proj/*.py"', {"GBR001-992c88", "GBR001-d16699"}),
        ('rule = "GBR001"\npath = "tests/*"', set()),
        ('rule = "GBR001"\nrun = "run?"', {"GBR001-992c88", "GBR001-d16699"}),
        ('rule = "GBR001"\nrun = "nightly"', set()),
    ],
)
def test_an_ignore_fits_all_of_its_terms(judge: Judge, terms: str, ids: set[str]) -> None:
    code, findings, said = judge(f'[[tool.tracelens.ignores]]\nreason = "known"\n{terms}\n')
    assert code == 0
    assert ignored(findings) == dict.fromkeys(ids, "known")
    assert ("fits no finding" in said) is (not ids)


def test_an_ignore_ends(judge: Judge) -> None:
    table = '[[tool.tracelens.ignores]]\nrule = "GBR001"\nreason = "known"\nuntil = '
    code, findings, said = judge(f"{table}2199-01-01\n", BREAKS, "--fail-on", "info")
    assert (len(ignored(findings)), said) == (2, "")
    code, findings, said = judge(f"{table}2020-01-01\n", BREAKS, "--fail-on", "info")
    assert code == 1
    assert ignored(findings) == {}
    assert "the ignore of GBR001 has expired on 2020-01-01" in said


def test_an_ignore_without_a_reason_is_told(judge: Judge) -> None:
    assert "GBR001 has no reason" in judge('[[tool.tracelens.ignores]]\nrule = "GBR001"\n')[2]
    assert "GBR001 has no reason" in judge('[tool.tracelens.ignore]\nGBR001 = ""\n')[2]
    assert "ignores nothing" in judge('[[tool.tracelens.ignores]]\nreason = "x"\n')[2]


def test_severities_are_the_projects(judge: Judge) -> None:
    settings = '[tool.tracelens.severity]\nGBR = "info"\nGBR001 = "error"\n'
    code, findings, _ = judge(settings, BREAKS, "--fail-on", "error")
    assert code == 1
    graded = {f["code"]: f["severity"] for f in findings if f["severity"] != "none"}
    assert graded["GBR001"] == "error"
    assert {graded[code] for code in graded if code.startswith("GBR")} == {"error", "info"}
    harmless = [f["code"] for f in findings if f["severity"] == "none"]
    assert "ERR" not in harmless
    settings = '[tool.tracelens.severity]\nGBR = "info"\nERR = "info"\n'
    assert judge(settings, BREAKS, "--fail-on", "warning")[0] == 0


@pytest.mark.parametrize(
    ("budget", "log", "said"),
    [
        ("graph-breaks = 67", BREAKS, "graph-breaks is 68, at most 67 is accepted"),
        ("graph-breaks = 68", BREAKS, ""),
        ("recompiles = 1", RECOMPILES, "recompiles is "),
        ("recompiles = 1000", RECOMPILES, ""),
        ("reference-share = 0", SAMPLE, "reference-share is 0.76"),
        ("reference-share = 0.9", SAMPLE, ""),
        ("compile-seconds = 110", BREAKS, "compile-seconds is 110.275, at most 110"),
        ("compile-seconds = 111", BREAKS, ""),
        ("graph-breaks = 0", SAMPLE, "budget graph-breaks = 0: nothing in the input tells it"),
    ],
)
def test_budgets(judge: Judge, budget: str, log: Path, said: str) -> None:
    code, _, err = judge(f"[tool.tracelens.budgets]\n{budget}\n", log)
    assert code == bool(said)
    assert said in err
    assert err.count("\n") == bool(said)


def test_a_policy_of_a_file_is_added_to(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        'fail-on = "info"\n[budgets]\ngraph-breaks = 0\n'
        '[[ignores]]\nrule = "GBR001"\nreason = "of the base"\n'
    )
    own = '[[tool.tracelens.ignores]]\nrule = "GBR002"\nreason = "our own"\n'
    code, findings, _ = judge(f'extends = "base.toml"\nfail-on = "never"\n{own}')
    assert code == 1  # the budget
    assert set(ignored(findings).values()) == {"of the base", "our own"}
    own = "[tool.tracelens.budgets]\ngraph-breaks = 68\n"
    assert judge(f'extends = "base.toml"\nfail-on = "never"\n{own}')[0] == 0
    assert judge(f'extends = "base.toml"\n{own}')[0] == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('extends = "none.toml"', "extends: none.toml: no such file"),
        ('extends = "heat:strict"', "no installed pack has the policy 'heat:strict'"),
        ('extends = "pyproject.toml"', "more than"),
        ("budgets = {graph-brakes = 0}", "Hint: did you mean graph-breaks?"),
        ('severity = {GBR = "fatal"}', "severity"),
        ('ignores = [{rule = "GBR", becauze = "x"}]', "ignores"),
    ],
)
def test_settings_that_mean_nothing_are_misuse(judge: Judge, settings: str, said: str) -> None:
    code, _, err = judge(f"{settings}\n")
    if "more than" in said:  # it is no policy, since its settings are below a table
        said = "tool"
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_a_policy_of_a_pack_is_read_and_its_code_is_not(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "site" / "heat-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: heat\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracelens.policies]\nstrict = heat.policies.strict\n")
    folder = tmp_path / "site" / "heat" / "policies"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "strict.toml").write_text("[budgets]\ngraph-breaks = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    code, _, err = judge('extends = "heat:strict"\n')
    assert code == 1
    assert "graph-breaks is 68, at most 3" in err
    assert "did you mean heat:strict?" in judge('extends = "heat:strickt"\n')[2]
