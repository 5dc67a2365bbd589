"""Tests of what the structured log tells of graphs: expected times, tensors, the order of runs."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import corpus
from tracelens import analyze
from tracelens.logs._opaque_payloads import reason

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "fixtures/logs/torch_trace/orders/dedicated_log_torch_trace_aots4l7e.log"
CORPUS = (corpus.ROOT or ROOT) / "traces" / "tlparse"
Rows = list[dict[str, Any]]


def tables(*paths: Path) -> dict[str, Rows]:
    """Return the tables of a report on logs."""
    return analyze(*map(str, paths)).tables


def payloads(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield compile id and payload of the artifacts of that name, without tracelens."""
    for record in re.split(r"(?m)^(?=V\d{4} )", text):
        head, _, body = record.partition("\n")
        if f'"{name}"' in head and "artifact" in head:
            envelope = json.loads(head[head.index("{") :])
            frame = f"{envelope.get('frame_id')}/{envelope.get('frame_compile_id')}"
            yield frame, json.loads(body)


def test_the_order_of_graphs_is_that_of_the_calls() -> None:
    # second(first(x)) twice, and second() once more.
    (row,) = tables(RECORDED)["graph_order"]
    assert (row["runs"], row["order"]) == (5, "0/0, 1/0, 0/0, 1/0 x 2")
    assert row["differs_at"] is None


def test_tensors_of_each_operation_are_there() -> None:
    rows = tables(RECORDED)["estimated_ops"]
    told = {(row["graph"], row["op"]): row["outputs"] for row in rows}
    assert told["0/0", "extern_kernels.mm"] == "float32[256, 64]"
    assert told["1/0", "op3"] == "float32[64]"


def test_an_estimate_that_inductor_has_not_is_null() -> None:
    found = tables(RECORDED)
    assert {row["estimated_ms"] for row in found["estimated_ops"]} == {None}
    assert {row["estimated_ms"] for row in found["estimated_graphs"]} == {None}


@pytest.mark.parametrize(
    ("old", "new", "differs", "behind"),
    [
        ("", "", None, 0.0),
        ('"estimated_runtime_ns": 2500', '"estimated_runtime_ns": 4500', None, 0.002),
        ('"float32"', '"bfloat16"', "1: extern_kernels.mm float32[256, 64] or ", 0.0),
        ('"op1"', '"op7"', "2: op1 float32[256, 64] or op7 float32[256, 64]", 0.0),
    ],
)
def test_ranks_are_held_against_each_other(
    old: str, new: str, differs: str | None, behind: float, tmp_path: Path
) -> None:
    text = RECORDED.read_text(encoding="utf-8")
    text = text.replace('"estimated_runtime_ns": 0', '"estimated_runtime_ns": 2500', 1)
    for rank, told in enumerate((text, text.replace(old, new, 1) if old else text)):
        name = f"dedicated_log_torch_trace_rank_{rank}_{'ab'[rank] * 8}.log"
        (tmp_path / name).write_text(told, encoding="utf-8")
    rows = tables(tmp_path)["estimated_graphs"]
    one, two = (row for row in rows if row["graph"] == "0/0")
    assert (one["rank"], two["rank"]) == ("rank0", "rank1")
    assert one["differs"] is None
    assert (two["differs"] or "").startswith(differs or "")
    assert (two["differs"] is None) is (differs is None)
    assert (one["behind_ms"], two["behind_ms"]) == (0.0, pytest.approx(behind))


def test_a_payload_in_another_form_is_unread_and_breaks_nothing(tmp_path: Path) -> None:
    text = RECORDED.read_text(encoding="utf-8")
    (tmp_path / "a.log").write_text(text.replace('"ops": [', '"ops": [[],', 1), encoding="utf-8")
    report = analyze(str(tmp_path / "a.log"))
    assert [one.kind for one in report.coverage.unread] == ["torch_trace"]
    assert {row["graph"] for row in report.tables["estimated_graphs"]} == {"1/0"}


@pytest.mark.parametrize(
    "name", ["inductor_runtime_and_tensor_meta", "graph_execution", "inductor_graph_execution"]
)
def test_what_is_read_is_no_longer_opaque(name: str) -> None:
    assert reason(name) is None


@corpus.needs_corpus
@pytest.mark.parametrize("folder", ["graph_exec_order", "multi_rank_runtime"])
def test_sums_and_orders_are_those_of_the_payloads(folder: str) -> None:
    paths = sorted((CORPUS / folder).glob("*.gz"))
    found = tables(*paths)
    rows = {(row["rank"], row["graph"]): row for row in found["estimated_graphs"]}
    orders = {row["rank"]: row for row in found.get("graph_order", [])}
    counted = 0
    for path in paths:
        text = gzip.decompress(path.read_bytes()).decode()
        rank = "rank" + re.findall(r"rank_(\d+)", path.name)[0]
        for frame, meta in payloads(text, "inductor_runtime_and_tensor_meta"):
            row = rows[rank, frame]
            total = sum(op["estimated_runtime_ns"] for op in meta["ops"]) / 1e6
            assert row["ops"] == len(meta["ops"])
            assert row["estimated_ms"] == pytest.approx(total, abs=1e-6)
            assert row["collectives"] == sum(op["type"] == "collective" for op in meta["ops"])
            counted += 1
        for _, order in payloads(text, "graph_execution"):
            ran = [one["compile_id"] for one in order["graph_execution_order"]]
            told = orders[rank]["order"].split(", ")
            expanded = [part for one in told for part in _repeated(one)]
            assert expanded == ran
    assert counted == len(rows)


@corpus.needs_corpus
def test_the_ranks_of_a_schedule_are_one_run_and_the_odd_one_is_named() -> None:
    report = analyze(str(CORPUS / "multi_rank_schedule"))
    assert len(report.runs) == 1
    (found,) = (one for one in report.findings if one.code == "DST002")
    assert "ranks 0, 2" in found.message
    assert "rank 1" in found.message


def _repeated(told: str) -> list[str]:
    graph, _, times = told.partition(" x ")
    return [graph] * int(times or 1)
