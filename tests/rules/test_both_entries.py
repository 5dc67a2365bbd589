"""What a recompile does not tell: the guards of both entries say what else is another."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze
from tracelens.report import Finding, Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
TURNS = RULES / "RCP007-module-int-attribute"
CRITIC = RULES / "RCP012-requires-grad-mismatch" / "quiet-frozen-critic.log"


def told(path: Path, code: str) -> Finding:
    (found,) = (one for one in analyze(str(path)).findings if one.code == code)
    return found


def test_two_values_that_take_turns_are_two() -> None:
    """Each of four recompiles names one of them; there is no third."""
    found = told(TURNS / "fires-two-in-turns.log", "RCP007")
    assert "`self.width` was 32 and 16, in turns: 4 recompiles." in found.message
    assert found.title == "`forward` was compiled for two values of `self.width`"
    assert "unspec-int" in ids(found)


def test_a_third_value_is_another(tmp_path: Path) -> None:
    text = (TURNS / "fires-two-in-turns.log").read_text()
    log = tmp_path / "run.log"
    head, sign, tail = text.rpartition("L['self'].width == 16")
    assert sign
    log.write_text(f"{head}L['self'].width == 24{tail}")
    found = told(log, "RCP007")
    assert "in turns" not in found.message
    assert found.title.endswith("for every value of `self.width`")


def test_modules_of_two_sizes_need_two_entries_of_all() -> None:
    """A symbol for the number would leave the sizes of the parameters."""
    found = told(TURNS / "fires-two-sizes-in-turns.log", "RCP007")
    assert found.severity is Severity.INFO
    assert "parameters differ in size as well" in found.message
    assert not {"unspec-int", "buffer"} & set(ids(found))


def test_parameters_that_are_frozen_with_the_input_need_an_entry_all_the_same() -> None:
    found = told(CRITIC, "RCP012")
    assert found.severity is Severity.NONE
    assert "parameters learn in some calls alone" in (found.harmless or "")
    assert not found.advice


@pytest.mark.parametrize("flags", [("True", "True"), ("False", "False")])
def test_an_input_alone_gets_the_flag_that_it_had(tmp_path: Path, flags: tuple[str, str]) -> None:
    """Of parameters whose flag stays, there is nothing to say."""
    lines = CRITIC.read_text().split("\n")
    for number, line in enumerate(lines):
        if "Parameter, DispatchKeySet" in line:
            flag = flags[number > len(lines) // 2]
            other = {"True": "False", "False": "True"}[flag]
            lines[number] = line.replace(f"requires_grad={other}", f"requires_grad={flag}")
    log = tmp_path / "run.log"
    log.write_text("\n".join(lines))
    found = told(log, "RCP012")
    assert "both are kept" in (found.harmless or "")
    assert "No change is named" in found.message
