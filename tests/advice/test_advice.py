"""Every advice that claims a test has one, and a fixed sample of them is run."""

import importlib.util
from pathlib import Path

import pytest

from tests.advice.bench import BLOCK, Program, check, programs
from tracelens.plugins.registry import discover
from tracelens.remedies import Remedy
from tracelens.rules import Rule

ROOT = Path(__file__).parents[2]
RULES = [rule for rule in discover("rules", Rule) if rule.__module__.startswith("tracelens.")]
REMEDIES = [(rule.code, remedy) for rule in RULES for remedy in rule.remedies]
#: What the tests run, one minute in all; ``benchmarks/advice.py`` runs the others.
SAMPLE = ("GBR001/keep-tensor.py", "RCP004/pass-tensor.py", "RCP007/unspec-int.py")

each = pytest.mark.parametrize("program", programs(), ids=lambda program: program.name[13:])


@pytest.mark.parametrize(
    ("code", "remedy"), REMEDIES, ids=[f"{code}-{remedy.id}" for code, remedy in REMEDIES]
)
def test_an_advice_says_how_it_is_known(code: str, remedy: Remedy) -> None:
    del code  # several rules may have one program
    assert remedy.proof, "a test, a thread or document, or why no test can show it"
    assert remedy.proof.count("https://") <= 1, "two links that became one"
    if remedy.basis == "tested":
        program = Program(ROOT / remedy.proof)
        assert program.path.is_file()
        assert program.advice == remedy.id


def test_the_advice_of_a_rule_has_ids_of_its_own() -> None:
    names = [(code, remedy.id) for code, remedy in REMEDIES]
    assert len(names) == len(set(names))


@each
def test_a_program_is_about_an_advice(program: Program) -> None:
    found = [r for code, r in REMEDIES if (code, r.id) == (program.code, program.advice)]
    assert found, "no rule has this advice"
    assert "def step(" in program.text
    if BLOCK.search(program.text):
        compile(program.after, program.name, "exec")
        assert program.after != program.text


@pytest.mark.live
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
@pytest.mark.parametrize("name", SAMPLE)
def test_the_advice_removes_the_finding(name: str, tmp_path: Path) -> None:
    check(Program(ROOT / "tests" / "advice" / name), tmp_path)
