"""What else changed, which part is given up, what was not compiled, and whose line it is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.frames.guard_entries import GuardedEntry
from tracelens.report import Finding
from tracelens.source import read

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def log_of(code: str, name: str) -> Path:
    (found,) = RULES.glob(f"{code}-*/{name}")
    return found


def findings(path: Path, code: str) -> list[Finding]:
    return [one for one in analyze(str(path)).findings if one.code == code]


def test_a_batch_whose_lengths_vary_is_marked() -> None:
    """One batch size left 13 of 13 recompiles; with all of them marked there were 9."""
    (found,) = findings(log_of("RCP003", "fires-batches-and-lengths.log.gz"), "RCP003")
    assert found.title == "other sizes of `kwargs['src']`: 10 recompiles"
    assert [one.id for one in found.advice] == ["mark-dynamic"]
    text = found.advice[0].text
    assert "dimensions 0 and 1 of what is passed as `src`, `trg_input` and `trg`" in text
    assert "dimension 0 of what is passed as `src_length` and `indices`" in text
    assert "dimensions 0 and 2 of what is passed as `src_mask` and `trg_mask`" in text


def test_a_batch_of_images_of_one_size_is_kept_at_one_size() -> None:
    first, *_ = findings(log_of("RCP003", "fires-other-batches.log.gz"), "RCP003")
    assert first.title.startswith("other batch sizes of `samples`")
    assert [one.id for one in first.advice] == ["one-size"]


def test_a_dimension_that_was_a_symbol_before_did_not_change(tmp_path: Path) -> None:
    """It was marked: the batch alone is compiled again for."""
    text = gzip.decompress(log_of("RCP003", "fires-batches-and-lengths.log.gz").read_bytes())
    lines = text.decode().split("\n")
    wide = [
        one.replace("size=[16, 25]", "size=[16, None]").replace("size=[16, 1, 25]", SIZE)
        for one in lines
    ]
    assert wide != lines
    path = tmp_path / "run.log"
    path.write_text("\n".join(_without_lengths(wide)), encoding="utf-8")
    (found,) = findings(path, "RCP003")
    assert found.title.startswith("other batch sizes of")
    assert [one.id for one in found.advice] == ["one-size"]


SIZE = "size=[16, 1, None]"


def _without_lengths(lines: list[str]) -> list[str]:
    """Return the guards of the new entry with symbols for the batch alone."""
    return [
        one.replace("size=[None, None]", "size=[None, 26]").replace(
            "[None, 1, None]", "[None, 1, 26]"
        )
        for one in lines
    ]


def test_the_rest_behind_an_earlier_break_is_given_up(tmp_path: Path) -> None:
    log = log_of("GBR019", "fires-rest-behind-packing.log")
    (rnn,) = findings(log, "GBR019")
    assert "keeps the rest of `forward` from being compiled" in rnn.title
    assert "gave up the rest of `forward` behind line 15" in rnn.message
    (lost,) = findings(log, "GBR006")
    assert lost.title.startswith("the rest of `forward` (")
    text = log.read_text(encoding="utf-8")
    alone = tmp_path / "run.log"
    alone.write_text("\n".join(one for one in text.split("\n") if "[2/0]" in one))
    (rnn,) = findings(alone, "GBR019")
    assert "keeps the whole function from being compiled" in rnn.title


def test_a_recompile_that_the_limit_refuses_is_none(tmp_path: Path) -> None:
    log = log_of("RCP002", "fires-symbols-elsewhere.log")
    report = analyze(str(log))
    counts = {one.code: one.count for one in report.findings}
    assert counts["RCP001"] == counts["RCP002"] == 7
    assert sum(row["count"] for row in report.tables["recompiles"] if row["frame"] == "1") == 7
    free = tmp_path / "run.log"
    lines = log.read_text(encoding="utf-8").split("\n")
    free.write_text("\n".join(one for one in lines if "convert_frame" not in one))
    (found,) = findings(free, "RCP002")
    assert found.count == 8
    assert "8 recompiles" in found.message


def test_symbols_elsewhere_clear_dynamic_false(tmp_path: Path) -> None:
    log = log_of("RCP002", "fires-symbols-elsewhere.log")
    (found,) = findings(log, "RCP002")
    assert [one.id for one in found.advice] == ["pad", "record-dynamic"]
    assert "in other functions sizes are symbols" in found.message
    static = tmp_path / "run.log"
    static.write_text(log.read_text(encoding="utf-8").replace("24, None]", "24, 131]"))
    (found,) = findings(static, "RCP002")
    assert "held static, by dynamic=False or mark_static, or where" in found.message


def test_a_remainder_that_a_package_computes_is_compiled_without_symbols(tmp_path: Path) -> None:
    log = log_of("ERR017", "fires-remainder-in-a-package.log.gz")
    (found,) = findings(log, "ERR017")
    known = found.advice[0]
    assert "`ptlflow` computes the remainder itself, at external/raft.py:59" in known.text
    assert known.code == "torch.compile(model, dynamic=False)"
    text = gzip.decompress(log.read_bytes()).decode()
    site = "/home/ana/venv/lib/python3.11/site-packages/ptlflow/utils/external/"
    own = tmp_path / "run.log"
    own.write_text(text.replace(site, "/home/ana/proj/"))
    (found,) = findings(own, "ERR017")
    assert "at proj/raft.py:59 write the remainder" in found.advice[0].text
    assert found.advice[0].code is None
    own.write_text("\n".join(one for one in text.split("\n") if "graph_code" not in one))
    (found,) = findings(own, "ERR017")
    assert "where a package computes it" in found.advice[0].text


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("", "", "parts.py"),
        ("parts.py:15 in forward", "parts.py:15 in features", None),  # of no `forward`
    ],
)
def test_guards_are_placed_at_the_function_that_was_compiled(
    old: str, new: str, file: str | None, tmp_path: Path
) -> None:
    """The argument is first used in another file."""
    text = log_of("GRD002", "quiet-first-used-elsewhere.log").read_text(encoding="utf-8")
    assert "shapes.py:8 in forward" in text
    path = tmp_path / "run.log"
    for line in (15, 16, 17) if old else ():
        mended = text.replace(old.replace("15", str(line)), new.replace("15", str(line)))
        text = mended
    path.write_text(text, encoding="utf-8")
    evidence, _ = read([str(path)])
    (row,) = evidence.table(GuardedEntry)
    where = row.record.where
    assert (where.file.rpartition("/")[2] if where else None) == file


def test_a_package_s_function_in_which_many_lines_break_is_left_out(tmp_path: Path) -> None:
    log = log_of("GBR008", "fires-numpy-in-a-package.log.gz")
    first, *_ = [one for one in findings(log, "GBR008") if one.data["skipped"]]
    assert [one.id for one in first.advice] == ["leave-function-out"]
    assert 'import_module("ptlflow.models.raft.raft")' in (first.advice[0].code or "")
    text = gzip.decompress(log.read_bytes()).decode()
    path = tmp_path / "run.log"
    path.write_text(text.replace("= forward_interpolate_batch(", "= self.interpolate_batch("))
    first, *_ = [one for one in findings(path, "GBR008") if one.data["skipped"]]
    assert "leave-function-out" not in [one.id for one in first.advice]
