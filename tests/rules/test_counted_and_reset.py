"""State that comes back, numbers that a function counts, masks that torch looks at, helpers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def about(code: str, text: str, tmp_path: Path) -> Finding:
    path = tmp_path / "run.log"
    path.write_text(text)
    (finding,) = [one for one in analyze(path).findings if one.code == code]
    return finding


def named(words: str, path: Path) -> Finding:
    (finding,) = [one for one in analyze(path).findings if words in one.title]
    return finding


def fixture(code: str, name: str) -> str:
    (folder,) = RULES.glob(f"{code}-*")
    return (folder / name).read_text()


def test_state_that_a_later_call_finds_set_back(tmp_path: Path) -> None:
    text = fixture("RCP031", "fires-set-back.log")
    found = about("RCP031", text, tmp_path)
    assert "is set back between calls" in found.title
    assert "not used again" not in found.message
    assert [one.id for one in found.advice] == ["reset-to-tensor"]
    first = text.partition("Recompiling function forward in")
    once = first[0] + first[1] + first[2].partition("Recompiling function forward in")[0]
    found = about("RCP031", once.rpartition("\n")[0] + "\n", tmp_path)
    assert "changes after its first call" in found.title
    assert [one.id for one in found.advice] == ["first-call", "in-init"]


def test_a_mask_that_torch_compares_is_said_to_be_causal(tmp_path: Path) -> None:
    text = fixture("GBR001", "fires-causal-mask.log")
    found = about("GBR001", text, tmp_path)
    assert [one.id for one in found.advice] == ["say-causal"]
    other = text.replace("_detect_is_causal_mask", "_check_mask")
    assert "say-causal" not in [one.id for one in about("GBR001", other, tmp_path).advice]


@pytest.mark.parametrize(
    ("old", "new", "ids"),
    [
        ("", "", ["capture-size", "call-before"]),
        ("in preprocess\n", "in <module>\n", ["capture-size", "keep-size"]),
        ("in trim_silence\n", "in forward\n", ["capture-size", "keep-size"]),
        ("app.py:31 in", "app.py:33 in", ["capture-size", "keep-size"]),  # it is not compiled
    ],
)
def test_a_helper_is_called_before(old: str, new: str, ids: list[str], tmp_path: Path) -> None:
    text = fixture("GBR008", "fires-helper.log")
    assert old in text
    found = about("GBR008", text.replace(old, new) if old else text, tmp_path)
    assert [one.id for one in found.advice] == ids


@pytest.mark.parametrize(
    ("code", "ids"),
    [
        ("self.t += dt", ["count-outside"]),
        ("self.t = self.t + dt", ["count-outside"]),
        ("p = torch.add(p, v, alpha=self.t)", ["multiply"]),
        ("p = p + self.tau", ["count-outside", "multiply"]),
    ],
)
def test_a_float_that_the_function_itself_counts(code: str, ids: list[str], tmp_path: Path) -> None:
    text = fixture("RCP005", "fires-counted.log")
    assert "code: self.t += dt" in text
    path = tmp_path / "run.log"
    path.write_text(text.replace("code: self.t += dt", f"code: {code}"))
    (found,) = [
        one for one in analyze(path).findings if one.code == "RCP005" and "`self.t`" in one.title
    ]
    assert [one.id for one in found.advice] == ids


def test_a_float_that_a_layer_of_a_package_counts_is_left_out_with_it(tmp_path: Path) -> None:
    text = fixture("RCP005", "fires-counted-in-package.log")
    found = about("RCP005", text, tmp_path)
    assert [one.id for one in found.advice] == ["leave-counter-out"]
    assert "`self.limit += 0.01 * x.shape[0]`" in found.advice[0].text
    assert "No change is named" not in found.message
    listed = about("RCP005", text.replace("_modules['norm']", "_modules['1']"), tmp_path)
    assert listed.advice == ()
    assert listed.message.endswith("measure `forward` uncompiled.")
    kept = about("RCP005", text.replace("self.limit += 0.01", "0.01"), tmp_path)
    assert "leave-counter-out" not in [one.id for one in kept.advice]


def test_a_float_that_a_layer_of_ones_own_counts_is_counted_outside(tmp_path: Path) -> None:
    text = fixture("RCP005", "fires-counted-within.log")
    found = about("RCP005", text, tmp_path)
    assert [one.id for one in found.advice] == ["count-outside"]
    assert found.advice[0].text.startswith("Change `fn[1].limit` where the function is called")
    assert "comparison with it; keep it in a 0-d tensor" in found.advice[0].text
    read = about("RCP005", text.replace("self.limit += 0.01", "0.01"), tmp_path)
    assert "for what else reads it" not in read.advice[0].text


def test_a_size_is_not_captured_where_the_rest_of_the_function_is_given_up(tmp_path: Path) -> None:
    """Tried: the graph breaks at the loop, or at the number that is read, all the same."""
    text = fixture("GBR008", "fires-unique-in-loop-2.13.log")
    path = tmp_path / "run.log"
    path.write_text(text)
    unique = named("_unique2", path)
    assert "capture-size" not in [one.id for one in unique.advice]
    path.write_text(text.replace("aten._unique2.default", "aten.nonzero.default"))
    found = named("depends on the data: the graph breaks at models/dynamic_modules.py:179", path)
    assert "capture-size" in [one.id for one in found.advice]  # the loop has such a size, too
    own = text.replace(
        "/home/ana/venv/lib/python3.11/site-packages/avalanche", "/home/ana/avalanche"
    )
    path.write_text(own)
    unique = named("_unique2", path)
    assert unique.advice[0].id == "rest-first"
    assert "line 184" in unique.advice[0].text
