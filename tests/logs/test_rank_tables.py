"""What ranks compiled, one beside the other: collectives, and what their caches said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracelens
from tracelens.report import Report

CODE = (
    "def call(args):",
    "    arg0_1, = args",
    "    buf0 = empty_strided_cpu((8, 4), (4, 1), torch.float32)",
    "    torch.ops._c10d_functional.all_reduce_.default(buf0, '%s', '0')",
    "    torch.ops._c10d_functional.wait_tensor.default(buf0)",
    "    buf1 = torch.ops._c10d_functional.all_gather_into_tensor.default(buf0, 2, '0')",
    "    torch.ops._c10d_functional.wait_tensor.default(buf1)",
    "    return (buf1, )",
)
REDUCE, WAIT, GATHER = (
    f"torch.ops._c10d_functional.{name}.default"
    for name in ("all_reduce_", "wait_tensor", "all_gather_into_tensor")
)


def record(rank: int, head: str, *payload: str, frame: int = 0) -> str:
    ids = f'"rank": {rank}, "frame_id": {frame}, "frame_compile_id": 0, "attempt": 0'
    end = ', "has_payload": "0"' if payload else ""
    first = f"V1122 10:00:00.00{rank}000 7{rank} torch/x.py:1] {{{head}, {ids}{end}}}\n"
    return first + "".join(f"\t{line}\n" for line in payload)


def artifact(rank: int, name: str, value: object, frame: int = 0) -> str:
    head = f'"artifact": {{"name": "{name}", "encoding": "json"}}'
    return record(rank, head, json.dumps(value), frame=frame)


def code(rank: int, reduces: str = "sum") -> str:
    lines = "\n".join(CODE) % reduces
    return record(rank, '"inductor_output_code": {}', *lines.split("\n"))


def report(folder: Path, *ranks: str) -> Report:
    for number, text in enumerate(ranks):
        name = f"dedicated_log_torch_trace_rank_{number}_{'ab'[number] * 8}.log"
        (folder / name).write_text(text, encoding="utf-8")
    return tracelens.analyze(str(folder))


def told(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_collectives_stand_in_the_order_of_the_code_with_their_arguments(tmp_path: Path) -> None:
    meta = {
        "ops": [
            {"name": "op0", "type": "compute", "outputs": []},
            {"name": REDUCE, "type": "collective", "outputs": []},
            {
                "name": GATHER,
                "type": "collective",
                "outputs": [{"shape": [16, 4], "dtype": "float32"}],
            },
        ]
    }
    ranks = [
        code(rank) + artifact(rank, "inductor_runtime_and_tensor_meta", meta) for rank in (0, 1)
    ]
    rows = report(tmp_path, *ranks).tables["collective_schedules"]
    names = ("rank", "at", "collective", "reduces", "group", "tensors", "differs")
    assert told(rows, *names) == [
        (rank, *each, None)
        for rank in ("rank0", "rank1")
        for each in (
            (1, "all_reduce_", "sum", "0", None),
            (2, "all_gather_into_tensor", None, "0", "float32[16, 4]"),
        )
    ]


def test_another_reduction_is_a_difference(tmp_path: Path) -> None:
    rows = report(tmp_path, code(0), code(1, "max")).tables["collective_schedules"]
    assert [row["differs"] for row in rows] == [None, None, "all_reduce_ sum on rank0", None]


def test_a_rank_that_calls_less_has_rows_of_what_it_does_not_call(tmp_path: Path) -> None:
    schedules = [[REDUCE, WAIT, GATHER, WAIT], [REDUCE, WAIT]]
    texts = [
        artifact(rank, "inductor_collective_schedule", each) for rank, each in enumerate(schedules)
    ]
    found = report(tmp_path, *texts)
    assert told(found.tables["collective_schedules"][2:], "rank", "collective", "differs") == [
        ("rank1", "all_reduce_", None),
        ("rank1", None, "all_gather_into_tensor on rank0"),
    ]
    (finding,) = [one for one in found.findings if one.code == "DST002"]
    assert finding.data["at"] == 2


def test_what_torch_says_itself_is_told_where_the_code_is_another(tmp_path: Path) -> None:
    schedule = artifact(0, "inductor_collective_schedule", [GATHER, WAIT])
    rows = report(tmp_path, code(0) + schedule).tables["collective_schedules"]
    assert told(rows, "collective", "group") == [("all_gather_into_tensor", None)]


def test_ranks_may_wait_in_another_order(tmp_path: Path) -> None:
    """Only what all ranks of a group do together can hang."""
    schedules = [[REDUCE, WAIT, GATHER, WAIT], [REDUCE, GATHER, WAIT, WAIT]]
    texts = [
        artifact(rank, "inductor_collective_schedule", each) for rank, each in enumerate(schedules)
    ]
    found = report(tmp_path, *texts)
    assert "DST002" not in {one.code for one in found.findings}
    assert {row["differs"] for row in found.tables["collective_schedules"]} == {None}


@pytest.mark.parametrize("second", ["hit", "miss"])
def test_caches_are_told_by_graph_and_rank(second: str, tmp_path: Path) -> None:
    texts = [
        artifact(0, "fx_graph_cache_hit", {"key": "f1", "cache_state": "hit"})
        + artifact(0, "aotautograd_cache_bypass", {"cache_bypass_reason": "no"}, frame=1),
        artifact(1, f"fx_graph_cache_{second}", {"key": "f1", "cache_state": second})
        + artifact(1, "aotautograd_cache_bypass", {"cache_bypass_reason": "no"}, frame=1),
    ]
    found = report(tmp_path, *texts)
    differs = None if second == "hit" else "hit on rank0"
    names = ("graph", "rank", "cache", "outcome", "reason", "key", "differs")
    assert told(found.tables["caches"], *names) == [
        ("0/0", "rank0", "fx graph", "hit", None, "f1", None),
        ("0/0", "rank1", "fx graph", second, None, "f1", differs),
        ("1/0", "rank0", "AOTAutograd", "bypass", "no", None, None),
        ("1/0", "rank1", "AOTAutograd", "bypass", "no", None, None),
    ]
    notes = [note for note in found.coverage.notes if note.startswith("caches:")]
    said = "0/0 miss on rank1, hit on rank0"
    head = "caches: of 1 compilation 1 rank was told otherwise than the first: "
    assert notes == ([] if second == "hit" else [head + said])
