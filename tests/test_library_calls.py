"""Executions of oneDNN find the call that makes them, and the user's line; or they find none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import ROOT, needs_corpus
from tests.test_processes import logs
from tracelens.evidence import Evidence
from tracelens.frames import Frame
from tracelens.inductor.library_calls import LibraryCall, LibraryRun
from tracelens.inductor.untold import falls_back
from tracelens.logs._problems import Task
from tracelens.logs.chrome_trace import CompiledGraph, CompiledRegion, InductorKernel
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.source import read

MODEL = "/home/ana/proj/every_log.py"


def evidence(*paths: str) -> Evidence:
    return read(list(paths))[0]


def runs(found: Evidence) -> dict[str, int | None]:
    """Return the user's line by shape."""
    return {
        row.record.run.record.shape: row.record.line.line if row.record.line else None
        for row in found.table(LibraryRun)
    }


@pytest.mark.parametrize("order", [(0,), (0, 1), (1, 0)])
def test_every_layer_finds_its_line(order: tuple[int, ...]) -> None:
    paths = logs("layers")
    found = evidence(*(paths[number] for number in order))
    assert runs(found) == {
        "mb4_ic3oc16_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1": 73,
        "mb4ic1024oc64": 74,
        "mb4ic64oc128": 75,
    }
    assert {row.record.line.file for row in found.table(LibraryRun) if row.record.line} == {MODEL}
    (frame,) = found.table(Frame)
    assert len(frame.record.of(PrimitiveExec)) == 3
    ran = sum(row.ms for row in found.table(LibraryRun))
    assert frame.record.ms(PrimitiveExec) == pytest.approx(ran)
    # The reorders of the weights are nobody's call.
    assert ran < sum(row.ms for row in found.table(PrimitiveExec))


def test_two_lines_with_the_same_shape_are_no_line() -> None:
    found = evidence(logs("twins")[0])
    assert runs(found) == {"mb4ic64oc64": None}
    assert all(row.record.compilation is None for row in found.table(LibraryRun))
    assert [row.record.ms(PrimitiveExec) for row in found.table(Frame)] == [None, None]


def test_a_trace_shows_the_time_of_each_frame() -> None:
    text, structured = logs("twins")
    trace = str(Path(text).parent / "trace.json")
    found = evidence(text, structured, trace)
    regions = {str(row.record): row.ms for row in found.table(CompiledRegion)}
    frames = {row.record.id: row.record for row in found.table(Frame)}
    assert {name: frame.ms(CompiledRegion) for name, frame in frames.items()} == {
        "0/0": regions["Torch-Compiled Region: 0/0"],
        "1/0": regions["Torch-Compiled Region: 1/0"],
    }


PREFIX = "V1120 12:00:00.000000 {pid} torch/_inductor/graph.py:1] [0/0] [__{artifact}] "
CODE = """\
Output code:
# AOT ID: ['0_inference']
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, {left}, (1, 1))
    assert_size_stride(arg1_1, {right}, (1, 1))
    buf0 = empty_strided_cpu({out}, (1, 1), torch.bfloat16)
    # Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]
    extern_kernels.{op}({arguments}, out=buf0)
    return (buf0, )"""
GRAPH = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 /home/ana/venv/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "bf16[4, 8][8, 1]cpu"):
        l_x_ = L_x_

        # File: /home/ana/proj/model.py:5 in forward, code: y = x @ w
        y: "bf16[4, 8][8, 1]cpu" = l_x_ @ l_x_

        # File: /home/ana/proj/model.py:6 in forward, code: x = torch.relu(y)
        x: "bf16[4, 8][8, 1]cpu" = torch.relu(y)
        return (x,)"""
EXEC = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx512_core_bf16,undef,src:{dtype}::blocked:ab"
    "::f0 wei:{dtype}::blocked:ab::f0 dst:{dtype}::blocked:ab::f0,attr-scratchpad:user,,{shape},2.5"
)


def module(op: str, left: str, right: str, out: str, arguments: str = "arg0_1, arg1_1") -> str:
    return CODE.format(op=op, left=left, right=right, out=out, arguments=arguments)


def record(artifact: str, text: str, pid: int = 7) -> str:
    prefix = PREFIX.format(artifact=artifact, pid=pid)
    return "".join(f"{prefix}{line}\n" for line in text.split("\n"))


@pytest.mark.parametrize(
    ("text", "task"),
    [
        (module("mm", "(4, 8)", "(8, 16)", "(4, 16)"), (4, 8, 16, 1)),
        (
            module(
                "mm",
                "(2, 2, 8)",
                "(16, 8)",
                "(4, 16)",
                "reinterpret_tensor(arg0_1, (4, 8), "
                "(8, 1), 0), reinterpret_tensor(arg1_1, (8, 16), (1, 8), 0)",
            ),
            (4, 8, 16, 1),
        ),
        (module("bmm", "(3, 4, 8)", "(3, 8, 16)", "(3, 4, 16)"), (4, 8, 16, 3)),
        (module("mm", "(s0, 8)", "(8, 16)", "(s0, 16)"), None),
        (module("mm", "(4, 8)", "(9, 16)", "(4, 16)"), None),
        (module("mm", "(4, 8)", "(8, 16)", "(4, 16)", "arg0_1, arg0_1"), None),
        (module("cumsum", "(4, 8)", "(8, 16)", "(4, 16)"), None),
    ],
)
def test_the_sizes_of_a_product_follow_from_its_tensors(
    tmp_path: Path, text: str, task: tuple[int, ...] | None
) -> None:
    path = tmp_path / "run.log"
    path.write_text(record("output_code", text))
    found = [row.record.task for row in evidence(str(path)).table(LibraryCall)]
    assert found == ([Task("matmul", False, task)] if task else [])


@pytest.mark.parametrize(
    ("dtype", "shape", "line"),
    [("bf16", "4x8:8x16", 5), ("f32", "4x8:8x16", None), ("bf16", "8x4:4x16", None)],
)
def test_type_and_sizes_must_agree(
    tmp_path: Path, dtype: str, shape: str, line: int | None
) -> None:
    path = tmp_path / "run.log"
    code = record("output_code", module("mm", "(4, 8)", "(8, 16)", "(4, 16)"))
    run = EXEC.format(dtype=dtype, shape=shape)
    path.write_text(record("graph_code", GRAPH) + code + f"{run}\n" * 3)
    # The activation that the call took along stands in line 6; the product is line 5.
    assert runs(evidence(str(path))) == ({shape: line} if line else {})


def test_lines_of_one_of_several_processes_are_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    code = module("mm", "(4, 8)", "(8, 16)", "(4, 16)")
    both = record("output_code", code, 7) + record("output_code", code, 8)
    path.write_text(both + EXEC.format(dtype="bf16", shape="4x8:8x16") + "\n")
    assert not evidence(str(path)).table(LibraryRun)
    ranked = "".join(f"[rank1]:{line}\n" for line in record("output_code", code).splitlines())
    run = EXEC.format(dtype="bf16", shape="4x8:8x16")
    path.write_text(ranked + f"[rank1]:{run}\n[rank0]:{run}\n")
    (row,) = evidence(str(path)).table(LibraryRun)
    assert row.count == 1


@needs_corpus
def test_eager_executions_are_told_from_those_of_the_frozen_model() -> None:
    """The same layers ran eagerly, as matmul, and frozen, as inner_product."""
    assert ROOT is not None
    (path,) = (ROOT / "corpus" / "real" / "vit_frozen_bf16").glob("log.txt*")
    found = evidence(str(path))
    assert {row.record.run.record.primitive for row in found.table(LibraryRun)} == {
        "inner_product",
        "convolution",
    }
    (frame,) = found.table(Frame)
    of_it = {seen.record.primitive for seen in frame.record.of(PrimitiveExec)}
    assert of_it == {"inner_product", "convolution"}


def trace(path: Path, *names: str) -> str:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10.0 * at, "dur": 4.0}
        for at, name in enumerate(names)
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return str(path)


def test_kernels_belong_to_the_frame_whose_code_holds_them(tmp_path: Path) -> None:
    names = ("graph_0_cpp_fused_relu_view_1", "graph_0_cpp_fused_relu_view_9", "aten::relu")
    found = evidence(logs("layers")[0], trace(tmp_path / "t.json", *names, names[0]))
    (frame,) = found.table(Frame)
    assert [row.count for row in frame.record.of(InductorKernel)] == [2]
    assert frame.record.ms(InductorKernel) == pytest.approx(0.008)


def test_a_kernel_name_of_two_frames_is_of_neither(tmp_path: Path) -> None:
    kernel = "cpp_fused_tanh_0"
    text = CODE.replace("extern_kernels.{op}({arguments}, out=buf0)", f"{kernel}(arg0_1, buf0)")
    text = text.replace(
        "def call", f"{kernel} = async_compile.cpp_pybinding([], r'''x''')\ndef call"
    )
    text = text.format(left="(4, 8)", right="(8, 16)", out="(4, 16)")
    log = tmp_path / "run.log"
    name = trace(tmp_path / "t.json", kernel)
    log.write_text(record("output_code", text))
    assert [row.record.ms(InductorKernel) for row in evidence(str(log), name).table(Frame)] == [
        0.004
    ]
    log.write_text(record("output_code", text) + record("output_code", text).replace("0/0", "1/0"))
    assert [row.record.ms(InductorKernel) for row in evidence(str(log), name).table(Frame)] == [
        None
    ] * 2


def test_a_graph_belongs_to_the_frame_that_made_its_key(tmp_path: Path) -> None:
    head = "V1120 12:00:00.000000 7 torch/_inductor/x.py:1] "
    envelope = '{"artifact": {"name": "fx_graph_cache_miss"}, "frame_id": 3, "frame_compile_id": 1}'
    guards = '{"dynamo_cpp_guards_str": {}, "frame_id": 3, "frame_compile_id": 1}'
    tree = "\t\n\tTREE_GUARD_MANAGER:\n\t+- RootGuardManager\n"
    log = tmp_path / "trace.log"
    log.write_text(f'{head}{envelope}\n\t{{"key": "fabc"}}\n{head}{guards}\n{tree}')
    calls = [f"## Call CompiledFxGraph {key} ##" for key in ("fabc", "fabc", "fxyz")]
    (frame,) = evidence(str(log), trace(tmp_path / "t.json", *calls)).table(Frame)
    assert frame.record.id == "3/1"
    assert [row.count for row in frame.record.of(CompiledGraph)] == [2]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((1, 64, 64, 1, 1, 16, 16, 1, 16, 16, 1, 3, 3), True),
        ((2, 64, 64, 1, 1, 16, 16, 1, 16, 16, 1, 3, 3), False),  # two images
        ((1, 64, 64, 64, 1, 16, 16, 1, 16, 16, 1, 3, 3), False),  # groups
        ((1, 64, 64, 1, 1, 16, 16, 1, 16, 16, 1, 5, 5), False),  # a larger kernel
        ((1, 80, 64, 1, 1, 16, 16, 1, 16, 16, 1, 3, 3), True),  # 20,480 elements
        ((1, 81, 64, 1, 1, 16, 16, 1, 16, 16, 1, 3, 3), False),
        ((1, 3, 64, 1, 1, 16, 16, 1, 16, 16, 1, 3, 3), False),  # little to compute
    ],
)
def test_which_convolutions_torch_leaves_to_aten(sizes: tuple[int, ...], expected: bool) -> None:
    call = LibraryCall(
        at=0,
        target="extern_kernels.convolution",
        task=Task("convolution", backward=False, sizes=sizes),
        dtype="f32",
    )
    assert falls_back(call) is expected
    assert not falls_back(call.model_copy(update={"dtype": "bf16"}))
