"""Torch's structured log against what was counted inside the process that wrote it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.corpus import cases, needs_corpus, truth
from tracelens.logs.cudagraphs import CudagraphSkip
from tracelens.logs.inductor_debug import CacheBypass, CacheEvent, HashDetails
from tracelens.logs.torch_trace import CompilationMetrics, TorchTrace, TorchVersion
from tracelens.source import read

TRACED = [case for case in cases("*/torch_trace_kitchen") if list(case.glob("truth.json*"))]


@needs_corpus
@pytest.mark.parametrize("case", TRACED, ids=lambda case: case.parent.name)
def test_compilations_are_those_that_dynamo_counted(case: Path) -> None:
    facts = truth(case)
    evidence, inputs = read([str(case / "torch_trace")])
    metrics = evidence.table(CompilationMetrics)
    ours = Counter((row.record.co_name, row.record.guard_count) for row in metrics)
    theirs = Counter(
        (metric["co_name"], metric["guard_count"])
        for metric in facts["compilation_metrics"]
        if metric.get("co_name") is not None
    )
    assert ours == theirs
    assert [row.record.pytorch_version for row in evidence.table(TorchVersion)] in (
        [facts["torch"]],
        [],
    )
    assert not evidence.unread
    assert sum(source.kinds["torch_trace"] for source in inputs) > 50


def test_the_compile_id_comes_from_the_envelope() -> None:
    assert TorchTrace.frame_of('{"str": ["a", 1]}') == ""
    assert TorchTrace.frame_of('{"x": {}, "frame_id": 3, "frame_compile_id": 1}\n{}') == "3/1"
    assert TorchTrace.frame_of('{"x": {}, "frame_id": 3, "compiled_autograd_id": 0}') == "!0/3/0"
    assert TorchTrace.frame_of("{broken") == ""


def test_a_payload_that_its_kind_refuses_is_accounted_for(tmp_path: Path) -> None:
    head = "V1120 11:02:58.170000 13148 torch/_dynamo/utils.py:2350] "
    path = tmp_path / "trace.log"
    path.write_text(
        head
        + '{"artifact": {"name": "torch_version"}, "has_payload": "x"}\n\tnot json\n'
        + head
        + '{"compilation_metrics": {"co_name": "f", "guard_count": 3}, "frame_id": 0}\n'
    )
    evidence, _ = read([str(path)])
    assert [unread.lines for unread in evidence.unread] == [2]
    assert [row.record.guard_count for row in evidence.table(CompilationMetrics)] == [3]


def test_what_a_cache_said_is_what_the_text_log_says() -> None:
    head = '{"artifact": {"name": "%s", "encoding": "json"}, "frame_id": 0, "has_payload": "x"}\n'
    miss = '{"key": "fabc", "components": ["[h1] gm: f()\\n\\ndef f():", "[h2] a[b]: 1"]}'
    event, details = TorchTrace.parse(head % "fx_graph_cache_miss" + miss)
    assert event == CacheEvent(cache="fx graph cache", outcome="miss", key="fabc")
    assert isinstance(details, HashDetails)
    assert [(part.hash, part.part) for part in details.components] == [("h1", "gm"), ("h2", "a[b]")]
    reason = '{"cache_bypass_reason": "Unsupported pass", "key": null}'
    (bypass,) = TorchTrace.parse(head % "aotautograd_cache_bypass" + reason)
    assert bypass == CacheBypass(reason="Unsupported pass")


def test_the_metrics_tell_the_settings_and_the_reason_of_a_skip() -> None:
    metrics, skip = TorchTrace.parse(
        '{"compilation_metrics": {"co_name": "f", "inductor_config": "{\\"freezing\\": true}", '
        '"dynamo_config": "not json", "cudagraph_skip_reason": '
        '"skipping cudagraphs due to mutated inputs (1 instances)"}, "frame_id": 0}'
    )
    assert isinstance(metrics, CompilationMetrics)
    assert metrics.settings == {"inductor.freezing": True}
    assert skip == CudagraphSkip(cause="mutated inputs", detail="1 instances")
