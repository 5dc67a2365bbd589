"""A trace and the log of the same run: kernels to lines, regions to guards and recompiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracelens
from tests.traces.writing import op, text
from tracelens.cli import main
from tracelens.logs._provenance import nodes, stacks
from tracelens.render import Options
from tracelens.render._kernel import kernel_text
from tracelens.report import Report

JOINED = Path(__file__).parents[2] / "fixtures" / "logs" / "chrome_trace" / "joined"
KERNEL = "cpp_fused_mul_relu_sigmoid_0"


@pytest.fixture(scope="module")
def report() -> Report:
    return tracelens.analyze(str(JOINED))


def test_a_kernel_has_its_lines_its_file_and_the_time_of_the_frame_that_ran(report: Report) -> None:
    rows = {row["frame"]: row for row in report.tables["kernel_origins"] if row["kernel"] == KERNEL}
    assert set(rows) == {"0/0", "0/1"}
    # Only the second compilation, for any batch, was called while the trace was taken: 3 + 2 times.
    assert (rows["0/1"]["n"], rows["0/0"]["n"], rows["0/0"]["ms"]) == (5, 0, 0.0)
    assert [line.rpartition("/")[2] for line in rows["0/1"]["lines"]] == [
        "pair.py:10 h = torch.relu(self.up(x))",
        "pair.py:11 h = h * torch.sigmoid(h)",
    ]
    assert rows["0/1"]["function"] == "forward"
    assert rows["0/0"]["file"] != rows["0/1"]["file"]
    assert all(row["file"].startswith("/home/ana/.cache/torchinductor/") for row in rows.values())


def test_a_region_has_its_function_guards_and_the_recompile_that_made_it(report: Report) -> None:
    (region,) = report.tables["regions"]
    assert (region["frame"], region["count"], region["function"]) == ("0/1", 5, "forward")
    assert region["where"] == "/home/ana/proj/pair.py:9"
    assert region["because"] == "size of x at index 0: 32 -> 48"
    assert region["guards"] > 0


@pytest.mark.parametrize("name", [KERNEL, f"graph_3_{KERNEL}"])  # as the trace has it
def test_the_command_tells_one_kernel(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(JOINED / "run.log.xz"), str(JOINED / "trace.json")]
    assert main(["analyze", *files, "--kernel", name, "--no-redact"]) == 0
    first, _ = capsys.readouterr().out.split("\n\n")
    assert first.startswith(f"{KERNEL}: cpp_pybinding, in the inference graph of frame 0/1\n")
    assert "/home/ana/proj/pair.py:11 h = h * torch.sigmoid(h)" in first
    assert "in 5 runs" in first
    assert "/torchinductor/ek/" in first


def test_the_command_names_kernels_that_are_spelt_alike(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(JOINED), "--kernel", f"{KERNEL[:-1]}1"]) == 2
    assert f"did you mean {KERNEL}" in capsys.readouterr().err


def test_without_generated_code_the_switch_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(JOINED / "trace.json"), "--kernel", KERNEL]) == 2
    assert 'TORCH_LOGS="output_code,graph_code"' in capsys.readouterr().err


def test_a_name_that_is_like_no_other_is_answered_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["analyze", str(JOINED), "--kernel", "q"]) == 2
    assert f"there are cpp_fused__softmax_1, {KERNEL}" in capsys.readouterr().err


@pytest.mark.parametrize(("lines", "told"), [((), True), (("a.py:3 y = x + 1",), False)])
def test_a_kernel_without_lines_says_what_to_record(
    report: Report, lines: tuple[str, ...], told: bool
) -> None:
    row = {"kernel": "cpp_fused_a_0", "language": "cpp", "input": "a.log", "line": 3}
    known = report.model_copy(update={"tables": {"kernel_origins": [row | {"lines": lines}]}})
    answer = kernel_text(known, "cpp_fused_a_0", Options())
    assert (
        'line      not known: record with TORCH_LOGS="output_code,graph_code"' in answer
    ) is told


# Namesakes, wrappers in C++, and what Inductor follows itself.

PREFIX = "V1122 10:00:00.%03d000 77 torch/_inductor/graph.py:2722] [%s] [__output_code] "
CPP = (
    "Output code: ",
    "%s = async_compile.cpp_pybinding(['float*'], r'''",
    'extern "C"  void  kernel(float* in_out_ptr0)',
    "{",
    '    RAIIAtenRecordFunctionHandle record_graph_%d_%s_("graph_%d_%s", nullptr);',
    "    auto tmp0 = in_out_ptr0[0];",
    "}",
    "''')",
    "def call(args):",
    "    arg0_1, = args",
    "    %s(arg0_1)",
    "    return (arg0_1, )",
)
WRAPPED = (
    "Output code: ",
    "import torch",
    "cpp_wrapper_src = (",
    'r"""',
    "#include <torch/csrc/inductor/cpp_wrapper/cpu.h>",
    'extern "C"  void  cpp_fused_relu_0(float* in_out_ptr0,',
    "                       float* out_ptr0);",
    "void inductor_entry_impl(AtenTensorHandle* input_handles) {",
    "    {",
    '    KernelContextGuard _ctx("cpp_fused_relu_0", R"(',
    '  File "/home/ana/proj/m.py", line 3, in forward',
    "    return self.act(x)",
    '  File "/home/ana/proj/m.py", line 9, in act',
    "    return torch.relu(x)",
    "           ^^^^^^^^^^^^^",
    "",
    ')");',
    "    cpp_fused_relu_0((float*)(buf0.data_ptr()), (float*)(buf1.data_ptr()));",
    "    }",
    "}",
    'extern "C"  void  cpp_fused_relu_0(float* in_out_ptr0,',
    "                       float* out_ptr0)",
    "{",
    '    RAIIAtenRecordFunctionHandle record_graph_2_("graph_2_cpp_fused_relu_0", nullptr);',
    "    auto tmp0 = in_out_ptr0[0];",
    "}",
    '"""',
    ")",
    "call = _wrap_func(inductor_entry)",
)


GRAPH = (
    "TRACED GRAPH",
    " ===== __compiled_fn_1 =====",
    " class GraphModule(torch.nn.Module):",
    '    def forward(self, L_x_: "f32[4, 8][8, 1]cpu"):',
    "        l_x_ = L_x_",
    "        # File: /home/ana/proj/m.py:7 in forward, code: return x + 1",
    '        add: "f32[4, 8][8, 1]cpu" = l_x_ + 1',
    "        return (add,)",
)


def logged(frame: str, *lines: str, at: int = 0) -> str:
    return "".join(f"{PREFIX % (at, frame)}{line}\n" for line in lines)


def code(frame: str, name: str, graph: int, at: int) -> str:
    whole = "\n".join(CPP) % (name, graph, name, graph, name, name)
    return logged(frame, *whole.split("\n"), at=at)


def origins(folder: Path, log: str, *calls: tuple[str, float]) -> list[dict[str, Any]]:
    (folder / "run.log").write_text(log, encoding="utf-8")
    events = [op(name, 10.0 * number, us) for number, (name, us) in enumerate(calls)]
    (folder / "trace.json").write_bytes(text(events))
    files = [str(folder / "run.log"), str(folder / "trace.json")]
    return tracelens.analyze(*files, one_run=True).tables["kernel_origins"]


def test_kernels_of_one_name_are_told_apart_by_the_number_of_their_graph(tmp_path: Path) -> None:
    name = "cpp_fused_add_0"
    log = code("1/0", name, 4, 0) + code("2/0", name, 5, 1) + code("3/0", name, 6, 2)
    calls = [(f"graph_4_{name}", 1.0), (f"graph_5_{name}", 3.0), (f"graph_4_{name}", 2.0)]
    rows = {row["frame"]: (row["n"], row["ms"]) for row in origins(tmp_path, log, *calls)}
    assert rows == {"1/0": (2, 0.003), "2/0": (1, 0.003), "3/0": (0, 0.0)}


def test_both_passes_of_a_compilation_never_claim_one_time(tmp_path: Path) -> None:
    name = "cpp_fused_add_0"
    log = code("1/0", name, 4, 0) + code("1/0", name, 4, 1).replace("arg0_1", "tangents_1")
    rows = origins(tmp_path, log, (f"graph_4_{name}", 1.0))
    assert [(row["graph"], row["n"]) for row in rows] == [("inference", None), ("backward", None)]


def test_without_numbers_in_the_trace_nothing_is_said_to_not_have_run(tmp_path: Path) -> None:
    (row,) = origins(tmp_path, code("1/0", "cpp_fused_add_0", 4, 0), ("aten::add", 1.0))
    assert row["n"] is None


def test_kernels_of_a_wrapper_in_cpp_have_their_lines_and_times(tmp_path: Path) -> None:
    (row,) = origins(tmp_path, logged("0/0", *WRAPPED), ("graph_2_cpp_fused_relu_0", 5.0))
    assert (row["kernel"], row["language"]) == ("cpp_fused_relu_0", "cpp")
    assert (row["n"], row["ms"], row["line"]) == (1, 0.005, 21)
    assert row["lines"] == ["/home/ana/proj/m.py:9 return torch.relu(x)"]


def test_what_inductor_follows_names_nodes_and_lines(tmp_path: Path) -> None:
    head = "V1122 10:00:00.001000 77 torch/_inductor/compile_fx.py:1] {%s, %s}\n"
    ids = '"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "0"'
    name = "cpp_fused_add_mul_0"
    artifact = '"artifact": {"name": "inductor_provenance_tracking_%s", "encoding": "json"}'
    mappings = {
        "postToPre": {"mul": ["scaled"], "add": ["out"], "addmm": ["linear"]},
        "cppCodeToPost": {f"{name}:2": ["mul", "add"], "extern_kernels.addmm:1": ["addmm"]},
    }
    stack = '  File "/home/ana/proj/m.py", line 7, in forward\n    out = scaled + 1\n'
    module = "\n".join(CPP[1:]) % (name, 4, name, 4, name, name)
    log = [
        head % ('"inductor_output_code": {"filename": "/home/ana/t/ab/cab.py"}', ids),
        *(f"\t{line}\n" for line in module.split("\n")),
        head % (artifact % "node_mappings", ids),
        f"\t{json.dumps(mappings)}\n",
        head % (artifact % "kernel_stack_traces", ids),
        f"\t{json.dumps({f'{name}:2': [stack]})}\n",
    ]
    (row,) = origins(tmp_path, "".join(log), (f"graph_4_{name}", 5.0))
    assert row["nodes"] == ["out", "scaled"]
    assert row["lines"] == ["/home/ana/proj/m.py:7 out = scaled + 1"]
    assert (row["n"], row["file"]) == (1, "/home/ana/t/ab/cab.py")


@pytest.mark.parametrize("payload", ["", "null", "{}"])
def test_what_was_not_followed_is_read_as_nothing(payload: str) -> None:
    assert [one.kernels for one in (*nodes(payload), *stacks(payload))] == [(), ()]


def test_a_trace_of_another_process_is_said_to_be_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "cpp_fused_add_0"
    log, trace = tmp_path / "run.log", tmp_path / "trace.json"
    graph = logged("1/0", *GRAPH).replace("__output_code", "__graph_code")
    log.write_text(graph + code("1/0", name, 4, 0), encoding="utf-8")
    event = op(f"graph_4_{name}", 0, 2.0)
    files = [str(log), str(trace)]
    trace.write_bytes(text([event | {"pid": 78, "tid": 78}]))
    assert main(["analyze", *files, "--kernel", name]) == 0
    assert "time      not known: the trace is of another process or day" in capsys.readouterr().out
    assert main(["analyze", *files, "--kernel", name, "--one-run"]) == 0
    assert "time      2 us in 1 run" in capsys.readouterr().out
