"""Advice that failed in whole programs is given where it works, and not where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids, recompiled, told
from tests.test_members import PREFIX as CODE
from tracelens import analyze

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
LINE = "{} == {}  # {}  # proj/net.py:15 in forward"


def advised(folder: str, name: str, code: str) -> list[list[str]]:
    (path,) = RULES.glob(f"{folder}-*/{name}.log")
    return [ids(one) for one in analyze(str(path)).findings if one.code == code]


@pytest.mark.parametrize(
    ("line", "is_advised"),
    [
        ("beta = self.at / 10", True),
        ("return x * self.at", True),
        ("self.kept[:, self.at : self.at + 1] = x", False),
        ("y = x[: self.at]", False),
        ("y = x[:, : self.other + self.at]", False),
        ("at = torch.arange(self.at, self.at + 4)", False),
        ("y = {'at': self.at}", True),
    ],
)
def test_a_buffer_is_no_bound_of_a_slice(line: str, is_advised: bool, tmp_path: Path) -> None:
    reasons = [LINE.format("self.at", number, line) for number in (3, 4, 5, 6)]
    assert ("buffer" in ids(told("RCP007", recompiled("forward", *reasons), tmp_path))) is (
        is_advised
    )


def test_a_buffer_counts_by_a_new_tensor(tmp_path: Path) -> None:
    """In place, the backward pass computed with what the buffer was after the next call."""
    for values, counts in (((3, 4, 5, 6), True), ((3, 9, 5, 6), False)):
        reasons = [LINE.format("self.at", number, "return x * self.at") for number in values]
        found = told("RCP007", recompiled("forward", *reasons), tmp_path)
        (text,) = [one.text for one in found.advice if one.id == "buffer"]
        assert ("`self.at = self.at + 1`" in text) is counts


@pytest.mark.parametrize(("values", "is_advised"), [((0, 1, 0, 1), False), ((0, 2, 4, 6), True)])
def test_a_flag_of_0_and_1_becomes_no_symbol(
    values: tuple[int, ...], is_advised: bool, tmp_path: Path
) -> None:
    reasons = [LINE.format("self.flip", number, "y = x * self.flip") for number in values]
    found = told("RCP007", recompiled("forward", *reasons), tmp_path)
    assert ("unspec-int" in ids(found)) is is_advised


def test_what_selects_within_another_operator_is_not_captured() -> None:
    """With the setting for the other line, `torch.combinations` raises."""
    found = advised("GBR008", "fires-pairs", "GBR008")
    assert sorted(found) == [["keep-size"], ["pair-indices"]]
    assert advised("GBR008", "fires-nonzero-2.13", "GBR008")[0][0] == "capture-size"


def test_a_hook_returns_nothing() -> None:
    """What it returned in the place of the module's output raised in the next layer."""
    path = next(RULES.glob("GBR001-*/fires-in-a-hook.log"))
    (found,) = [one for one in analyze(str(path)).findings if one.code == "GBR001"]
    assert any(one.text.startswith("What a hook returns") for one in found.advice)
    assert not any("return the tensor" in one.text for one in found.advice)


def test_what_inductor_asks_for_is_told_by_the_line_that_reads_it() -> None:
    assert advised("RCP023", "fires-changed-there", "RCP023") == [["count-outside"]]
    assert ["keep-tensor"] in advised("RCP023", "fires-clamped", "RCP023")
    assert all("multiply" not in one for one in advised("RCP023", "fires-clamped", "RCP023"))


def test_where_a_slice_begins_is_no_last_batch() -> None:
    assert advised("RCP023", "fires-slices", "RCP023") == [["own-memory"]]


@pytest.mark.parametrize(("step", "is_told"), [(0, True), (1, False)])
def test_layers_that_each_read_a_column_are_no_ensemble(
    step: int, is_told: bool, tmp_path: Path
) -> None:
    """``vmap`` with one input for all raises there."""
    count = 20
    names = ", ".join(f"arg{number}_1" for number in range(2 * count + 1))
    lines = ["Output code:", "def call(args):", f"    {names} = args"]
    lines.append(f"    assert_size_stride(arg0_1, (32, {count}), ({count}, 1))")
    for number in range(1, 2 * count, 2):
        lines.append(f"    assert_size_stride(arg{number}_1, (8, 1), (1, 1))")
        lines.append(f"    assert_size_stride(arg{number + 1}_1, (8, ), (1, ))")
    for number in range(count):
        weight = 2 * number + 1
        column = f"reinterpret_tensor(arg0_1, (32, 1), ({count}, 1), {number * step})"
        lines.append(f"    buf{number} = empty_strided_cpu((32, 8), (8, 1), torch.float32)")
        lines.append(
            f"    extern_kernels.addmm(arg{weight + 1}_1, {column}, reinterpret_tensor("
            f"arg{weight}_1, (1, 8), (1, 1), 0), alpha=1, beta=1, out=buf{number})"
        )
    lines.append("    return (buf0, )")
    log = tmp_path / "run.log"
    log.write_text("".join(f"{CODE}{line}\n" for line in lines))
    found = [one for one in analyze(str(log)).findings if one.code == "IND019"]
    assert bool(found) is is_told


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("return x.clamp(max=self.limit).mean()", True),
        ("p = torch.add(p, g, alpha=self.limit)", False),
        ("y = x.clamp(max=self.other) + torch.add(p, g, alpha=-self.limit)", False),
    ],
)
def test_what_takes_a_tensor_gets_one_from_the_object_that_keeps_it(
    line: str, is_kept: bool, tmp_path: Path
) -> None:
    """With the float as a summand in its place, a clamp was compiled for every value."""
    values = (4.0, 3.8, 3.6, 3.4)
    first = LINE.format("G['loss'].limit", values[0], line)
    asked = "(fx/passes/_tensorify_python_scalars.py:429 in _tensorify_impl)"
    reasons = [first, *(f"G['loss'].limit == {one}  # {asked}" for one in values[1:])]
    found = ids(told("RCP005", recompiled("forward", *reasons), tmp_path))
    assert ("keep-tensor" in found, "multiply" in found) == (is_kept, not is_kept)
