"""Advice that had no effect, or made a step slower, where it was followed: it is not printed."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"


def about(code: str, text: str, tmp_path: Path) -> Finding:
    log = tmp_path / "run.log"
    log.write_text(text)
    (finding,) = [one for one in analyze(str(log)).findings if one.code == code]
    return finding


def fixture(code: str, name: str) -> str:
    (folder,) = FIXTURES.glob(f"{code}-*")
    return (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "is_advised"),
    [
        ("", "", False),  # `len(xi) - mi.sum()`: a size is asked for
        ("len(xi) - mi.sum()", "len(xi) - 4", True),
        ("len(xi) - mi.sum()", "w * mi.sum()", True),  # computed with, and no size
        ("len(xi) - mi.sum()", "mi.sum().item()", False),
    ],
)
def test_a_size_is_captured_where_no_number_is_read_beside_it(
    old: str, new: str, is_advised: bool, tmp_path: Path
) -> None:
    text = fixture("GBR008", "fires-size-less-a-sum.log")
    assert old in text
    found = about("GBR008", text.replace(old, new) if old else text, tmp_path)
    assert ("capture-size" in [one.id for one in found.advice]) == is_advised


def test_no_size_is_captured_where_a_package_s_function_is_given_up(tmp_path: Path) -> None:
    text = fixture("GBR008", "fires-lost-in-package.log")
    found = about("GBR008", text, tmp_path)
    assert [one.id for one in found.advice] == ["leave-call-out", "see-parts"]
    first = text.index("Graph break in user code", text.index("Graph break in user code") + 1)
    kept = about("GBR008", text[: text.rindex("\n", 0, first) + 1], tmp_path)
    assert kept.data["skipped"] == 0
    assert "capture-size" in [one.id for one in kept.advice]


@pytest.mark.parametrize(("index", "is_advised"), [(1, False), (0, True)])
def test_a_recurrent_module_is_traced_where_no_length_varies(
    index: int, is_advised: bool, tmp_path: Path
) -> None:
    """It is unrolled over its time steps, anew for each length; batches may vary."""
    text = fixture("GBR019", "fires-lengths.log")
    changed = text.replace("mismatch at index 1.", f"mismatch at index {index}.")
    found = about("GBR019", changed, tmp_path)
    assert [one.id for one in found.advice] == ["compile-around"], "all of it was given up"
    gave_up = "Skipping the function and falling back to eager"
    cut = [line for line in changed.splitlines(keepends=True) if gave_up not in line]
    found = about("GBR019", "".join(cut), tmp_path)
    assert [one.id for one in found.advice] == ["allow-rnn"] * is_advised


@pytest.mark.parametrize("is_package", [True, False])
def test_a_package_is_not_told_to_give_its_tensors_one_flag(
    is_package: bool, tmp_path: Path
) -> None:
    text = fixture("RCP012", "quiet-package.log")
    if not is_package:
        text = text.replace("/home/ana/proj/.venv/lib/python3.11/site-packages", "/home/ana/proj")
    found = about("RCP012", text, tmp_path)
    assert not found.advice
    assert found.severity == "none"
    assert found.message.count("No change is named") == 1
    assert ("is called with tensors of both kinds" in found.message) == is_package
    assert found.title.endswith("`x` and 1 more tensor")
    assert "set of parameters" not in found.message


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("usr/local/lib/python3.11/fractions.py", "fractions"),
        ("usr/lib/python3.13/json/decoder.py", "json"),
        ("/lib/python3", "Python"),
        ("torch/nn/functional.py", "torch"),
    ],
)
def test_a_line_of_python_is_not_said_to_be_in_torch(
    file: str, package: str, tmp_path: Path
) -> None:
    text = fixture("DYN004", "fires-standard-library.log")
    found = about("DYN004", text.replace("sr/local/lib/python3.11/fractions.py", file), tmp_path)
    (advice,) = found.advice
    assert f"No change is named: the line is in `{package}`" in advice.text


@pytest.mark.parametrize(
    ("old", "new", "advised"),
    [
        ("<= self.cached_freqs_seq_len", "<= self.cached_freqs_seq_len", "call-first"),
        ("<= self.cached_freqs_seq_len", "* self.cached_freqs_seq_len", "unspec-int"),
        ("cached_freqs_seq_len == 300", "cached_freqs_seq_len == 0", "unspec-int"),  # none grows
    ],
)
def test_what_only_grows_is_filled_before_compiling(
    old: str, new: str, advised: str, tmp_path: Path
) -> None:
    text = fixture("RCP007", "fires-grows.log")
    assert old in text
    found = about("RCP007", text.replace(old, new), tmp_path)
    assert found.advice[0].id == advised


@pytest.mark.parametrize(
    ("behind", "captured"),
    [
        ("lens[mask].tolist()", False),
        ("pack_padded_sequence(x, lens)", False),
        ("x[mask] + 1", True),
    ],
)
def test_a_size_is_not_captured_whose_numbers_the_next_lines_read(
    behind: str, captured: bool, tmp_path: Path
) -> None:
    """Inductor raised there: `Could not guard on data-dependent expression`."""
    records = fixture("GBR008", "fires-nonzero-2.13.log").split("Graph break in user code at ")
    head = records[0]
    (mask,) = {one for one in records[2:3] if "in g_mask" in one}
    later = mask.replace(":37", ":38").replace("line 37,", "line 38,")
    later = later.replace("x[x > 0] + 1", behind)
    start = "Graph break in user code at "
    text = f"{head}{start}{mask.removesuffix(head)}{head}{start}{later.removesuffix(head)}"
    path = tmp_path / "run.log"
    path.write_text(text)
    found = [one for one in analyze(str(path)).findings if one.code == "GBR008"]
    first = next(one for one in found if one.where is not None and one.where.line == 37)
    assert ("capture-size" in {one.id for one in first.advice}) is captured
