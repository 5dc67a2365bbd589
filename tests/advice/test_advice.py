"""Every advice that claims a test has one, and a fixed sample of them is run."""

import importlib.util
from pathlib import Path

import pytest

from tests.advice.bench import BLOCK, Program, check, programs
from tracelens.plugins.registry import discover
from tracelens.rules import Rule

ROOT = Path(__file__).parents[2]
RULES = [rule for rule in discover("rules", Rule) if rule.__module__.startswith("tracelens.")]
REMEDIES = [(rule.code, remedy) for rule in RULES for remedy in rule.remedies]
#: What the tests run, one minute in all; ``benchmarks/advice.py`` runs the others.
SAMPLE = ("GBR001/keep-tensor.py", "RCP004/pass-tensor.py", "RCP007/unspec-int.py")

FAMILIES = sorted({code[:3] for code, _ in REMEDIES})

each_family = pytest.mark.parametrize("family", FAMILIES)


@each_family
def test_an_advice_says_how_it_is_known(family: str) -> None:
    for code, remedy in REMEDIES:
        if not code.startswith(family):
            continue
        name = f"{code}-{remedy.id}"
        assert remedy.proof, f"{name}: a test, a thread or document, or why no test can show it"
        assert remedy.proof.count("https://") <= 1, f"{name}: two links that became one"
        if remedy.basis == "tested":
            program = Program(ROOT / remedy.proof)  # several rules may have one
            assert program.path.is_file(), name
            assert program.advice == remedy.id, name


def test_the_advice_of_a_rule_has_ids_of_its_own() -> None:
    names = [(code, remedy.id) for code, remedy in REMEDIES]
    assert len(names) == len(set(names))


def test_a_program_belongs_to_a_family() -> None:
    assert {program.code[:3] for program in programs()} <= {*FAMILIES}


@each_family
def test_a_program_is_about_an_advice(family: str) -> None:
    known = {(code, remedy.id) for code, remedy in REMEDIES}
    for program in programs():
        if not program.code.startswith(family):
            continue
        assert (program.code, program.advice) in known, f"{program.name}: no rule has this advice"
        assert "def step(" in program.text, program.name
        if BLOCK.search(program.text):
            compile(program.after, program.name, "exec")
            assert program.after != program.text, program.name


@pytest.mark.live
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
@pytest.mark.parametrize("name", SAMPLE)
def test_the_advice_removes_the_finding(name: str, tmp_path: Path) -> None:
    check(Program(ROOT / "tests" / "advice" / name), tmp_path)
