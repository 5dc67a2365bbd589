"""Names of events to records: every special form, whatever else somebody calls an event."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.traces.writing import Bytes, launch, op, read, span, text
from tracelens.grammars import Unreadable
from tracelens.logs.chrome_trace import (
    Annotation,
    BackwardNode,
    BuiltinFunction,
    ChromeTrace,
    Collective,
    CompiledGraph,
    CompiledRegion,
    CompilePhase,
    DataLoading,
    DeviceKernel,
    DispatchStage,
    InductorKernel,
    MemoryCopy,
    MemoryEvent,
    MemorySet,
    ModuleCall,
    Operator,
    OptimizerCall,
    ParallelCall,
    ProfilerMark,
    ProfilerOverhead,
    ProfilerStep,
    PythonFunction,
    RuntimeCall,
    TraceEvent,
)
from tracelens.traces import names
from tracelens.traces.reading import read_trace

GRAPH = "fcpqpbfyidhzf7o6wmzwxqjrvfo5k7xtmihknayuqifuhjxtejnr"
NODE = "autograd::engine::evaluate_function: "
LOADER = "_MultiProcessingDataLoaderIter.__next__"
FORMS: list[tuple[str, str, type[TraceEvent], dict[str, object]]] = [
    ("cpu_op", "aten::addmm", Operator, {"namespace": "aten", "op": "addmm"}),
    ("Operator", "aten::to", Operator, {"namespace": "aten", "op": "to"}),
    ("cpu_op", "a::b::c_", Operator, {"namespace": "a::b", "op": "c_"}),
    ("cpu_op", "MeanBackward0", BackwardNode, {"node": "MeanBackward0", "evaluated": False}),
    ("cpu_op", f"{NODE}AddBackward0", BackwardNode, {"node": "AddBackward0", "evaluated": True}),
    ("cpu_op", f"{NODE}a b::c<d>", BackwardNode, {"node": "a b::c<d>"}),
    ("cpu_op", "torch::autograd::CppNode<a::B>", BackwardNode, {"evaluated": False}),
    ("cpu_op", "CompiledFunctionBackward", BackwardNode, {"is_compiled": True}),
    ("cpu_op", "Torch-Compiled Region: 0/1", CompiledRegion, {"frame": "0/1"}),
    ("cpu_op", "Torch-Compiled Region", CompiledRegion, {"frame": ""}),
    ("cpu_op", "Torch-Compiled Region of mine", Annotation, {}),
    ("user_annotation", f"## Call CompiledFxGraph {GRAPH} ##", CompiledGraph, {"hash": GRAPH}),
    ("cpu_op", "## Call CompiledFxGraph None ##", CompiledGraph, {"hash": "None"}),
    ("cpu_op", "## Call CompiledFxGraph", Annotation, {}),
    ("cpu_op", "TorchDynamo Cache Lookup", DispatchStage, {"stage": "TorchDynamo Cache Lookup"}),
    ("cpu_op", "CompiledFunction", DispatchStage, {}),
    ("cpu_op", "Pregraph bytecode", DispatchStage, {}),
    ("cpu_op", "AOTDispatcher Runtime Wrapper Prologue", DispatchStage, {}),
    ("cpu_op", "gc (dynamo_timed)", CompilePhase, {"phase": "gc", "timed": True}),
    ("cpu_op", "compile_attempt_0", CompilePhase, {"phase": "compile_attempt_0", "timed": False}),
    ("user_annotation", "dynamo_data: compile_id=0/1", CompilePhase, {"compile_id": "0/1"}),
    (
        "user_annotation",
        "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=1/0",
        CompilePhase,
        {"phase": "entire_frame_compile", "compile_id": "1/0"},
    ),
    (
        "cpu_op",
        "graph_0_cpp_fused_gelu_1",
        InductorKernel,
        {"graph": 0, "backend": "cpp", "kind": "", "ops": "gelu", "number": 1},
    ),
    (
        "kernel",
        "triton_red_fused__to_copy_add_12",
        InductorKernel,
        {"graph": None, "backend": "triton", "kind": "red", "ops": "_to_copy_add", "number": 12},
    ),
    ("kernel", "triton_poi_fused_0", InductorKernel, {"kind": "poi", "ops": "", "number": 0}),
    ("kernel", "triton_mm_4", DeviceKernel, {"name": "triton_mm_4"}),
    ("kernel", "void at::f<a, b>(int)", DeviceKernel, {"is_collective": False}),
    ("Kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(x)", DeviceKernel, {"is_collective": True}),
    (
        "kernel",
        "void ds::ep::internode::combine<8>(int4*)",
        DeviceKernel,
        {"is_collective": True},
    ),
    ("kernel", "void deep_ep::intranode::dispatch<8>(int)", DeviceKernel, {"is_collective": True}),
    (
        "kernel",
        "void vllm::cross_device_reduce_1stage<4>()",
        DeviceKernel,
        {"is_collective": True},
    ),
    ("kernel", "two_shot_all_reduce_kernel(float*)", DeviceKernel, {"is_collective": True}),
    ("kernel", "void step::epilogue<4>(int)", DeviceKernel, {"is_collective": False}),
    ("kernel", "void ep::scatter_rows(int)", DeviceKernel, {"is_collective": False}),
    ("kernel", "aten::mm", DeviceKernel, {}),
    ("kernel", "", DeviceKernel, {"name": ""}),
    (
        "gpu_memcpy",
        "Memcpy HtoD (Pageable -> Device)",
        MemoryCopy,
        {"direction": "HtoD", "source": "Pageable", "target": "Device"},
    ),
    ("Memcpy", "Memcpy DtoH (Device -> Pinned)", MemoryCopy, {"target": "Pinned"}),
    ("gpu_memcpy", "CopyDeviceToDevice", Annotation, {}),
    ("gpu_memset", "Memset (Device)", MemorySet, {}),
    ("cuda_runtime", "cudaLaunchKernelExC", RuntimeCall, {"launches": True, "synchronizes": False}),
    ("cuda_driver", "cuLaunchKernel", RuntimeCall, {"launches": True}),
    ("cuda_runtime", "hipGraphLaunch", RuntimeCall, {"launches": True}),
    ("Runtime", "cudaStreamSynchronize", RuntimeCall, {"launches": False, "synchronizes": True}),
    ("xpu_runtime", "urEnqueueKernelLaunch", RuntimeCall, {"launches": True}),
    ("user_annotation", "ProfilerStep#12", ProfilerStep, {"number": 12}),
    ("user_annotation", "ProfilerStep*", ProfilerStep, {"number": None}),
    ("user_annotation", "ProfilerStep#x", Annotation, {}),
    ("user_annotation", "nccl:_all_gather_base", Collective, {"operation": "_all_gather_base"}),
    ("user_annotation", "gloo:all_reduce", Collective, {"communicator": "gloo"}),
    ("cpu_op", "DistributedDataParallel.forward", ParallelCall, {"method": "forward"}),
    ("user_annotation", "FSDP::all_gather (layers.1)", ParallelCall, {"wrapper": "FSDP"}),
    ("user_annotation", "Optimizer.step#AdamW.step", OptimizerCall, {"optimizer": "AdamW"}),
    ("cpu_op", "Optimizer.zero_grad#SGD.zero_grad", OptimizerCall, {"call": "zero_grad"}),
    ("user_annotation", f"enumerate(DataLoader)#{LOADER}", DataLoading, {"loader": "DataLoader"}),
    ("cpu_instant_event", "[memory]", MemoryEvent, {}),
    ("", "[memory]", MemoryEvent, {"category": ""}),
    ("Trace", "PyTorch Profiler (0)", ProfilerMark, {}),
    ("", "Iteration Start: PyTorch Profiler", ProfilerMark, {}),
    ("overhead", "Lazy Function Loading", ProfilerOverhead, {}),
    (
        "python_function",
        "torch/nn/modules/linear.py(134): forward",
        PythonFunction,
        {"file": "torch/nn/modules/linear.py", "line": 134, "function": "forward"},
    ),
    ("python_function", "<frozen a._b>(5): _c(1)", PythonFunction, {"file": "<frozen a._b>"}),
    ("python_function", "nn.Module: Linear_0", ModuleCall, {"module": "Linear", "index": 0}),
    ("python_function", "nn.Module: A_1_b", ModuleCall, {"module": "A_1_b", "index": None}),
    ("python_function", "<built-in function max>", BuiltinFunction, {}),
    ("user_annotation", "f.py(3): g", Annotation, {"name": "f.py(3): g"}),
    ("user_annotation", "my own words", Annotation, {"name": "my own words"}),
    ("anything", "", Annotation, {"name": ""}),
]


@pytest.mark.parametrize(("category", "name", "kind", "fields"), FORMS)
def test_a_name_becomes_the_record_of_its_form(
    category: str, name: str, kind: type[TraceEvent], fields: dict[str, object]
) -> None:
    (record,) = ChromeTrace.parse(f"{category}\t{name}")
    assert type(record) is kind
    assert isinstance(record, TraceEvent)
    assert record.category == category
    assert {field: getattr(record, field) for field in fields} == fields
    assert str(record) == name


PARTS = st.sampled_from(
    [name for _, name, _, _ in FORMS] + ["::", "(1): ", " -> ", "_0", " (dynamo_timed)", "\t", "\n"]
)
ANY_NAME = st.lists(PARTS | st.text(max_size=5), max_size=4).map("".join)
CATEGORIES = st.sampled_from([category for category, _, _, _ in FORMS]) | st.text(
    st.characters(exclude_characters="\t"), max_size=5
)


@settings(max_examples=500, deadline=None)
@given(CATEGORIES, ANY_NAME)
def test_any_name_is_a_name(category: str, name: str) -> None:
    (record,) = ChromeTrace.parse(f"{category}\t{name}")
    assert isinstance(record, TraceEvent)
    assert str(record) == ChromeTrace.mask(name)


def test_addresses_are_put_aside() -> None:
    texts = [
        f"python_function\t<built-in method mean of Tensor object at 0x7fa4d07c8{number:03x}>"
        for number in range(5)
    ]
    assert len({ChromeTrace.parse(text) for text in texts}) == 1
    assert ChromeTrace.mask("kernel\tf<0x10>") == "kernel\tf<0x10>"


def test_an_event_in_json_is_read_like_its_name() -> None:
    assert ChromeTrace.parse(json.dumps(op("aten::mm", 1, 2))) == ChromeTrace.parse(
        "cpu_op\taten::mm"
    )
    with pytest.raises(Unreadable, match="NaN"):
        ChromeTrace.parse('{"ph": "X", "name": "a", "ts": NaN}')


# Counting by name.


def test_events_are_counted_and_timed_by_name() -> None:
    evidence = read(
        [
            op("aten::mm", 10, 1.5),
            op("aten::mm", 20, 2.5),
            {"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "s": "t", "ts": 1},
            launch(5),
            {"ph": "s", "id": 1, "name": "ac2g", "cat": "ac2g", "ts": 1},
            {"ph": "f", "id": 1, "name": "ac2g", "cat": "ac2g", "ts": 1, "bp": "e"},
        ]
    )
    rows = {seen.text: seen for seen in evidence.table(TraceEvent)}
    product = rows["cpu_op\taten::mm"]
    assert (product.count, product.ms, product.first.line) == (2, 0.004, 1)
    assert product.times is not None
    assert (product.times.min, product.times.max) == (0.0015, 0.0025)
    memory = rows["cpu_instant_event\t[memory]"]
    assert (memory.count, memory.times, memory.first.line) == (1, None, 3)
    assert (evidence.events, evidence.understood_events) == (6, 6)
    assert evidence.kinds == {"chrome_trace": 1}


def test_steps_are_one_row_and_objects_are_one_row() -> None:
    steps = [span("user_annotation", f"ProfilerStep#{n}", n, 1) for n in range(7)]
    at = [span("python_function", f"<m of T object at 0x7f12345678{n:02}>", n, 1) for n in range(9)]
    rows = read([*steps, *at]).table(TraceEvent)
    assert [(seen.text, seen.count) for seen in rows] == [
        ("user_annotation\tProfilerStep*", 7),
        ("python_function\t<m of T object at 0x>", 9),
    ]


def test_begin_and_end_make_one_span() -> None:
    evidence = read(
        [
            {"ph": "B", "name": "outer", "cat": "user_annotation", "ts": 0, "pid": 1, "tid": 1},
            {"ph": "B", "name": "inner", "cat": "user_annotation", "ts": 10, "pid": 1, "tid": 1},
            {"ph": "B", "name": "other", "cat": "user_annotation", "ts": 0, "pid": 1, "tid": 2},
            {"ph": "E", "ts": 15, "pid": 1, "tid": 1},
            {"ph": "E", "ts": 100, "pid": 1, "tid": 1},
            {"ph": "E", "ts": 100, "pid": 1, "tid": 1},
        ]
    )
    assert {str(seen.record): (seen.count, seen.ms) for seen in evidence.table(TraceEvent)} == {
        "inner": (1, 0.005),
        "outer": (1, 0.1),
    }
    assert (evidence.events, evidence.understood_events) == (6, 6)


def test_too_many_names_lose_their_numbers_and_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "MAX_NAMES", 20)
    monkeypatch.setattr(names, "MAX_MASKED", 5)
    words = ["".join(chr(97 + n // 26**k % 26) for k in range(3)) for n in range(60)]
    events = [op(f"step {n}", n, 1) for n in range(100)] + [op(word, 0, 1) for word in words]
    evidence = read(events)
    rows = {seen.text: seen.count for seen in evidence.table(TraceEvent)}
    assert rows["cpu_op\tstep 3"] == 1
    assert rows["cpu_op\tstep #"] == 80
    assert rows["\t(other names)"] == 56
    assert sum(rows.values()) == evidence.understood_events == 160
    assert len(rows) <= 26
    assert len(evidence.notes) == 1


NAMES = st.text(alphabet="a0x19 \n\t:#", max_size=6) | st.sampled_from(
    ["ProfilerStep#3", "ProfilerStep#14", "f at 0x7fa4d07c8aa0", "g at 0x7fa4d07c8ab0", "aten::b_7"]
)


@settings(deadline=None, max_examples=60)
@example(
    drawn=[
        ("cpu_op", name)
        for name in ("f at 0x7fa4d07c8aa0", "b", *["f at #x"] * 9, *["f at 0x7fa4d07c8ab0"] * 9)
    ],
    most=2,
)
@given(
    drawn=st.lists(
        st.tuples(st.sampled_from(["cpu_op", "c1", "c2", "", "python_function"]), NAMES)
    ),
    most=st.integers(1, 4),
)
def test_names_are_put_together_alike_by_the_list_and_one_by_one(
    drawn: list[tuple[str, str]], most: int
) -> None:
    events = [span(*name, 10 * at, 1 + at % 7) for at, name in enumerate(drawn)]
    told = []
    for by_the_list in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(names, "MAX_NAMES", most)
            patch.setattr(names, "MAX_MASKED", 3)
            patch.setattr(names, "MAX_SHAPES", 2)
            if not by_the_list:
                patch.setattr(names.Names, "prepare", lambda *_: None)
            evidence = read_trace(Bytes(text(events)), "trace.json", chunk=400)
        rows = [(one.text, one.count, one.first, one.ms) for one in evidence.table(TraceEvent)]
        measured = [(one.record, one.count) for one in evidence.measured]
        told.append((rows, measured, evidence.notes, evidence.understood_events))
    assert told[0] == told[1]


def test_a_name_that_begins_and_ends_again_among_too_many_is_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names, "MAX_NAMES", 3)
    events = [op(f"aten::{name}", 10 * at, 5) for at, name in enumerate("abcd")]
    for at in (100, 200, 300):
        begun = op("aten::mm", at, 0)
        del begun["dur"]
        events += [begun | {"ph": "B"}, begun | {"ph": "E", "ts": at + 7}]
    evidence = read(events)
    assert evidence.events == 10
    (mm,) = [one for one in evidence.table(TraceEvent) if "aten::mm" in one.text]
    assert (mm.count, mm.ms) == (3, 0.021)


def test_impossible_durations_are_events_without_time() -> None:
    durations = [5, -1, 0, 1e300]
    (seen,) = read([op("a", 0, us) for us in durations]).table(TraceEvent)
    assert seen.count == 4
    assert seen.times is not None
    assert (seen.times.n, seen.ms, seen.times.min) == (2, 0.005, 0)
