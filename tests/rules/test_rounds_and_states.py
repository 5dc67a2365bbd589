"""What a loop, a float that is kept, or the end of a function has to do with a graph break."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.rcp.float_argument_specialised import FloatArgumentSpecialised

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def found(code: str, name: str, *, of: str = "") -> list[Finding]:
    """Return the findings of a rule about its own log, or that of another."""
    [log] = RULES.glob(f"{of or code}-*/{name}.log*")
    findings = [one for one in analyze(str(log)).findings if one.code == code]
    assert findings
    return findings


def ids(finding: Finding) -> list[str]:
    return [one.id for one in finding.advice]


def text(finding: Finding, name: str) -> str:
    return next(one.text for one in finding.advice if one.id == name)


def test_a_float_that_is_kept_is_made_a_tensor_before_the_branch_goes() -> None:
    [finding] = found("GBR002", "fires-float-state-2.13")
    told = text(finding, "select")
    assert told.startswith("First keep `self.time` in a 0-d tensor")
    assert "Then compile `substep` instead of what calls it" in told
    assert "_assert_async" not in told


@pytest.mark.parametrize("name", ["fires-divides-2.13", "fires-inference-2.13"])
def test_without_such_a_float_it_is_selected_at_once(name: str) -> None:
    [finding] = found("GBR002", name)
    assert text(finding, "select").startswith("If both sides compute tensors")


def test_the_limit_by_a_float_that_is_kept_is_told_by_itself() -> None:
    [finding] = [one for one in found("RCP005", "fires-float-state-2.13") if one.advice]
    assert ids(finding) == ["keep-tensor"]
    assert "Leave `torch.tensor()` out around it." in text(finding, "keep-tensor")
    assert finding.explained_by is None


def test_a_loop_of_as_many_rounds_as_the_input_has_is_left_to_python() -> None:
    [finding] = found("GBR016", "fires-rounds-of-input-2.13")
    assert ids(finding) == ["choose-drawn", "compile-called"]  # where the rounds are the same, too
    assert "such as `self.dec`" in text(finding, "compile-called")


def test_a_loop_over_layers_may_be_unrolled() -> None:
    [finding] = found("GBR016", "fires-in-a-loop")
    assert "is unrolled" not in text(finding, "compile-called")


def test_what_is_called_last_is_called_after_the_compiled_function() -> None:
    [finding] = found("GBR008", "fires-called-last-2.13")
    assert ids(finding) == ["call-after"]


def test_what_is_called_first_is_called_before() -> None:
    [finding] = found("GBR008", "fires-helper")
    assert "call-before" in ids(finding)


def test_rounds_of_experts_are_not_captured() -> None:
    [finding] = found("GBR008", "fires-experts-2.13")
    assert ids(finding) == ["keep-size"]
    assert "compare the times" in text(finding, "keep-size")


def test_a_number_for_the_loop_behind_it_is_read_outside() -> None:
    [finding] = found("GBR001", "fires-before-a-range-2.13")
    assert ids(finding) == ["read-outside"]
    assert "`for _ in range(n)`" in text(finding, "read-outside")


def test_a_number_at_which_a_slice_for_attention_ends_is_no_symbol() -> None:
    [finding] = found("GBR001", "fires-bound-of-attention-2.13")
    assert ids(finding) == ["read-outside"]
    assert "`self.k[i]`" in text(finding, "read-outside")


def test_a_number_that_is_computed_with_is_kept_a_tensor() -> None:
    [first] = found("GBR001", "fires-temperature-2.13")
    assert "keep-tensor" in ids(first)


def test_models_of_several_architectures_are_called_uncompiled() -> None:
    [finding] = found("RCP018", "fires-architectures-2.13")
    assert ids(finding)[0] == "uncompiled"
    assert "raise-limit" not in ids(finding)
    lengths = found("RCP017", "fires-architectures-2.13", of="RCP018")
    assert {one.explained_by for one in lengths} == {finding.id}


@pytest.mark.parametrize("name", ["fires-four-shapes", "fires-normalized"])
def test_layers_of_one_kind_are_no_models(name: str) -> None:
    assert not any("uncompiled" in ids(one) for one in found("RCP018", name))


def test_a_number_that_dropout_takes_is_not_let_become_a_symbol() -> None:
    [finding] = found("RCP005", "fires-dropped-2.13")
    assert ids(finding) == ["mask"]


def test_a_number_is_let_become_a_symbol_where_the_log_tells_of_none() -> None:
    """A size that differs in each entry as well is no symbol either."""
    [finding] = found("RCP005", "fires-behind-sizes")
    assert "default-dynamic" in ids(finding)
    [alone] = found("RCP005", "fires-dynamic-false")
    assert ids(alone) == ["pass-tensor"]
    data = FloatArgumentSpecialised.Data(**alone.data)
    told = data.model_copy(update={"is_static": True})
    assert "default-dynamic" in [one.id for one in FloatArgumentSpecialised().advise(told)]


def test_an_entry_whose_code_holds_a_value_without_a_guard_does_not_serve_others() -> None:
    [finding] = found("RCP023", "fires-served-then-2.13")
    assert finding.data["computed"] == "lost"
    assert "it serves others" not in finding.message


def test_an_entry_that_holds_a_value_is_told_as_that() -> None:
    assert not any(
        "it serves others" in one.message for one in found("RCP023", "fires-every-value")
    )


def test_a_first_change_with_nothing_to_do_is_a_note() -> None:
    assert all(one.harmless for one in found("RCP003", "fires-items-of-a-list-2.13"))


def test_a_part_of_an_argument_is_padded_where_no_result_has_a_row_for_it() -> None:
    [finding] = found("RCP016", "fires-items-of-a-list-2.13")
    assert "cut off" not in text(finding, "pad")
