"""CUDA graphs: every wording of a skip, recordings, and what each version prints."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs import kind
from tracelens.logs.cudagraphs import (
    CudagraphNote,
    CudagraphPartition,
    CudagraphRecording,
    Cudagraphs,
    CudagraphSkip,
    FunctionRun,
    ManyShapes,
    Partition,
    PartitionCut,
    Partitions,
    PartitionStack,
    RerecordLimit,
    StaticInput,
    StaticInputs,
)
from tracelens.source import read
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

STACK = '   File "/home/ana/proj/model.py", line 4, in f\n    y = x * 2'


@pytest.mark.parametrize(
    ("text", "cause", "detail"),
    [
        ("skipping cudagraphs due to input mutation", "input mutation", ""),
        ("skipping cudagraphs due to ['incompatible ops']", "incompatible ops", ""),
        ("skipping cudagraphs due to skipping cudagraphs due to cpu device (primals_88)",
         "cpu device", "primals_88"),
        ("skipping cudagraphs due to mutated inputs (2 instances)", "mutated inputs",
         "2 instances"),
        (("skipping cudagraphs due to multiple devices: device(type='cuda', index=0),"
         " device(type='cpu')"), "multiple devices",
         "device(type='cuda', index=0), device(type='cpu')"),
        ("disabling cudagraphs due to incompatible op aten.nonzero.default", "incompatible op",
         "aten.nonzero.default"),
        ("skipping cudagraphs due to skipping cudagraphs due to deterministic index put",
         "deterministic index put", ""),
        (("skipping cudagraphs due to cudagraph capture requires the caching allocator; current"
         " allocator is uncached"), "cudagraph capture requires the caching allocator",
         "current allocator is uncached"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", f". Found from : \n{STACK}", f" Found from {STACK}\n"])
def test_a_skip_says_why_and_where(text: str, cause: str, detail: str, end: str) -> None:
    (record,) = Cudagraphs.parse(text + end)
    assert isinstance(record, CudagraphSkip)
    assert (record.cause, record.detail) == (cause, detail)
    if end:
        (frame,) = record.stack_frames
        assert (frame.file, frame.line, frame.function, frame.code) == (
            "/home/ana/proj/model.py", 4, "f", "y = x * 2",
        )  # fmt: skip


def test_torch_may_not_know_why() -> None:
    (record,) = Cudagraphs.parse("skipping cudagraphs for unknown reason")
    assert isinstance(record, CudagraphSkip)
    assert record.unknown


@pytest.mark.parametrize(
    ("text", "graph", "symints"),
    [
        ("recording cudagraph tree for (8,)", "", "(8,)"),
        ("recording cudagraph tree for None", "", "None"),
        ("recording cudagraph tree for graph without symints", "", ""),
        ("Recording cudagraph tree for symint key 3", "", "3"),
        ("[0/0] Recording cudagraph tree for symint key (4, 8)", "0/0", "(4, 8)"),
    ],
)
def test_a_recording_names_the_graph_and_the_sizes(text: str, graph: str, symints: str) -> None:
    assert Cudagraphs.parse(text) == (CudagraphRecording(graph=graph, symints=symints),)


def test_a_re_recording_names_the_inputs_that_moved() -> None:
    (run,) = Cudagraphs.parse(
        "[0/0] Re-recording function=forward, mode=FORWARD, "
        "reason=static input data pointer changed.\n"
        "input name: primals_1. data pointer changed from 139988 to 139990. "
        'input stack trace:   File "/home/ana/proj/model.py", line 4, in f\n'
        "    y = x @ w\n"
        "        ^^^^^\n\n"
    )
    assert isinstance(run, FunctionRun)
    assert run.run == "Re-recording"
    assert [(change.input, change.stack_frames[0].line) for change in run.pointer_changes] == [
        ("primals_1", 4)
    ]


def test_the_code_of_a_cut_is_a_record_after_it() -> None:
    (stack,) = Cudagraphs.parse(
        '         File "/home/ana/proj/model.py", line 4, in f\n'
        "             y = x.cpu()\n"
        "                 ^^^^^^^"
    )
    assert isinstance(stack, PartitionStack)
    assert stack.stack_frames[0].code == "y = x.cpu()"


@pytest.mark.parametrize(
    ("text", "run", "target"),
    [
        ("Running warmup of function 0", "Running warmup", "0"),
        ("Recording function 1 (f) of graph recording id 1, inputs: [0]: int(3)", "Recording",
         "1 (f)"),
        ("[0/0] Re-recording function=f, mode=FORWARD, reason=x", "Re-recording", "f"),
        ("Running eager of function 1", "Running eager", "1"),
    ],
)  # fmt: skip
def test_what_was_done_with_a_call(text: str, run: str, target: str) -> None:
    (record,) = Cudagraphs.parse(text)
    assert isinstance(record, FunctionRun)
    assert (record.run, record.target) == (run, target)


def test_many_sizes_are_counted() -> None:
    text = (
        "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size."
        " Recording too many CUDAGraphs may lead to extra overhead. We have observed 51 distinct"
        " sizes. Please consider the following options for better performance: a) padding"
    )
    assert Cudagraphs.parse(text) == (ManyShapes(sizes=51),)


def test_the_limit_of_recordings_names_the_inputs_that_moved() -> None:
    text = (
        "skipping cudagraph due to function 1 exceeding max re-recording limit (=128) on cudagraph"
        " node 0 due to static input data pointer changed.\n"
        "input name: primals_1. data pointer changed from 1399 to 1400. input stack trace: None\n"
        f"input name: primals_2. data pointer changed from 7 to 9. input stack trace: {STACK}\n."
    )
    (record,) = Cudagraphs.parse(text)
    assert isinstance(record, RerecordLimit)
    assert (record.function_id, record.limit, record.node) == (1, 128, "0")
    assert record.reason == "static input data pointer changed"
    assert [(c.input, c.old, c.new) for c in record.pointer_changes] == [
        ("primals_1", "1399", "1400"),
        ("primals_2", "7", "9"),
    ]
    assert record.pointer_changes[1].stack_frames[0].line == 4


def test_a_graph_in_parts() -> None:
    text = (
        "Created 2 graph partitions: 1 cudagraphable, 1 non-cudagraphable\n"
        "  Partition 0: 5 nodes, cudagraphable, inputs=3, outputs=1\n"
        "    op3: reason=cpu ops, ir=DeviceCopy, fx=prims.device_put(buf0, cpu)"
    )
    whole, part, cut = Cudagraphs.parse(text)
    assert whole == Partitions(count=2, recorded=1, plain=1)
    assert isinstance(part, Partition)
    assert isinstance(cut, PartitionCut)
    assert (cut.name, cut.cause) == ("op3", "cpu ops")
    (record,) = Cudagraphs.parse(f"cudagraph partition due to non gpu ops. Found from : \n{STACK}")
    assert isinstance(record, CudagraphPartition)
    assert record.cause == "non gpu ops"


def test_other_lines_are_notes() -> None:
    (record,) = Cudagraphs.parse("Checkpointing cuda caching allocator state.")
    assert isinstance(record, CudagraphNote)


def test_a_skip_without_any_prefix_is_read_with_its_stack() -> None:
    text = f"epoch 1\nskipping cudagraphs due to cpu device (a). Found from : \n{STACK}\nepoch 2"
    segmenter = Segmenter(Kinds([kind("cudagraphs")]), "log")
    segmenter.feed([line.encode() + b"\n" for line in text.split("\n")])
    evidence = segmenter.finish()
    (row,) = evidence.table(CudagraphSkip)
    assert row.record.stack_frames[0].function == "f"
    assert evidence.understood_lines == 3


@needs_corpus
def test_static_inputs_of_a_real_log() -> None:
    (case,) = cases("2.13.0/art_cudagraph_static_inputs")
    evidence, _ = read([log_of(case)])
    assert evidence.table(StaticInputs).count == 9
    assert evidence.table(StaticInput).count == 6
    assert not any(row.record.static for row in evidence.table(StaticInput))


def test_a_stack_may_lack_the_numbers_of_its_lines() -> None:
    (record,) = Cudagraphs.parse(
        "skipping cudagraphs due to cpu device (arg3_1). Found from : \n"
        '   File "proj\\\\net.py", in forward\n    y = self.mix(x)\n'
        '  File "proj\\\\ops.py", in mix\n    return x + self.shift.float()\n'
    )
    assert isinstance(record, CudagraphSkip)
    assert record.detail == "arg3_1"
    assert [(one.line, one.function) for one in record.stack_frames] == [(0, "forward"), (0, "mix")]
