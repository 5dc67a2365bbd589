"""The profiler's table: its columns, units and totals."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs import kind
from tracelens.logs.key_averages import KeyAverages, KeyAveragesLog, Total
from tracelens.source import read
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

RULE = "-" * 24 + ("  " + "-" * 12) * 5
CPU = f"""{RULE}
                    Name    Self CPU %      Self CPU     CPU total     Self CUDA    # of Calls
{RULE}
             aten::addmm        27.96%     223.916us      12.000ms      10.000us             9
nn.Module: two  blanks_0         9.49%       1.250s        2.000s       0.000us             3
{RULE}
Self CPU time total: 1.474s
Self CUDA time total: 10.000us
"""


def table(text: str) -> KeyAverages:
    (record,) = KeyAveragesLog.parse(text.rstrip("\n"))
    assert isinstance(record, KeyAverages)
    return record


def test_rows_are_typed_by_their_columns() -> None:
    first, second = table(CPU).averages()
    assert (first.name, first.calls, first.cpu_ms, first.device_ms) == ("aten::addmm", 9, 12, None)
    assert first.self_cpu_ms == pytest.approx(0.223916)
    assert first.self_device_ms == pytest.approx(0.01)
    assert (second.name, second.self_cpu_ms, second.calls) == (
        "nn.Module: two  blanks_0", 1250.0, 3,
    )  # fmt: skip


def test_the_totals_are_per_kind_of_device() -> None:
    assert table(CPU).totals == (
        Total(total="Self CPU", duration=1474.0),
        Total(total="Self CUDA", duration=0.01),
    )


def test_the_table_is_found_among_the_programs_lines() -> None:
    segmenter = Segmenter(Kinds([kind("key_averages")]), "log")
    text = f"-----\n  12%\nepoch 1\n{CPU}\nfinished 100%"
    segmenter.feed([line.encode() + b"\n" for line in text.split("\n")])
    evidence = segmenter.finish()
    assert evidence.kinds == {"key_averages": 1}
    assert evidence.understood_lines == CPU.count("\n")
    assert len(KeyAveragesLog.tables(evidence)["operations"]) == 2


@needs_corpus
@pytest.mark.parametrize(
    ("case", "name", "calls", "total"),
    [
        ("2.13.0/prof_mlp_compiled", "Torch-Compiled Region: 0/0", 3, 0.800713),
        ("2.13.0/prof_mlp_eager", "aten::linear", 9, 51.145),
        ("2.13.0/prof_cnn_eager_all", "torch/nn/modules/module.py(1782): _call_impl", 18, 167.817),
        ("real/prof_gpt2_compiled_stack", "threading.py(331): wait", 1, 61.402),
    ],
)
def test_real_tables(case: str, name: str, calls: int, total: float) -> None:
    (folder,) = cases(case)
    evidence, _ = read([log_of(folder)])
    (row,) = evidence.table(KeyAverages)
    rows = list(row.record.averages())
    assert len(rows) == 12
    assert (rows[0].name, rows[0].calls) == (name, calls)
    assert all(found.self_cpu_ms is not None for found in rows)
    assert row.record.totals == (Total(total="Self CPU", duration=total),)
