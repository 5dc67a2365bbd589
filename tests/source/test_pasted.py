"""What people paste: excerpts, indented, quoted, behind a server's prefix, cut at either end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze, engine
from tracelens.evidence import Evidence
from tracelens.logs.autotune import Autotune, AutotuneTable, LooseChoices
from tracelens.logs.compile_errors import Failure
from tracelens.logs.compile_times import PhaseTimes
from tracelens.logs.key_averages import KeyAverages
from tracelens.logs.onednn_verbose import LibraryVersion, PrimitiveExec, PrimitiveStart
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import LooseFailures, Recompile
from tracelens.logs.warnings import TorchWarning
from tracelens.source import read

TABLE = (
    "AUTOTUNE mm(64x64, 64x64)",
    "  triton_mm_1 0.0110 ms 100.0% BLOCK_K=32, BLOCK_M=16, num_stages=5, num_warps=4",
    "  mm 0.0210 ms 52.4% ",
    "SingleProcess AUTOTUNE benchmarking takes 1.2000 seconds and 0.0003 seconds precompiling",
)
EXEC = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx2,undef,src:f32::blocked:ab::f0 "
    "wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,attr-scratchpad:user,,64x128:128x96,0.25"
)
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/home/ana/venv/lib/python3.12/site-packages/torch/_inductor/graph.py", line 7, in run',
    "    self.finalize()",
    "torch._inductor.exc.InductorError: AttributeError: no attribute 'launch_hook'",
    "",
    "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this)",
)
GRAD = (
    "Grad strides do not match bucket view strides. This may indicate grad was not created "
    "according to the gradient layout contract, or that the param's strides changed since DDP was "
    "constructed.  This is not an error, but may impair performance."
)
SIZES = (
    "grad.sizes() = [64, 32, 1, 1], strides() = [32, 1, 32, 32]",
    "bucket_view.sizes() = [64, 32, 1, 1], strides() = [32, 1, 1, 1] (function operator())",
)


def pasted(tmp_path: Path, *lines: str, end: str = "\n") -> Evidence:
    path = tmp_path / "pasted.txt"
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    evidence = read([str(path)])[0]
    assert not evidence.unread
    return evidence


@pytest.mark.parametrize("indent", ["    ", "  ", "   "])
def test_a_text_that_is_indented_as_a_whole(indent: str, tmp_path: Path) -> None:
    evidence = pasted(tmp_path, *(indent + line for line in TABLE))
    (row,) = evidence.table(AutotuneTable)
    assert [choice.kernel for choice in row.record.choices] == ["triton_mm_1", "mm"]
    assert evidence.understood_lines == 4


def test_what_is_indented_by_itself_stays_so(tmp_path: Path) -> None:
    evidence = pasted(tmp_path, *TABLE[1:3])
    (row,) = evidence.table(AutotuneTable)
    assert [choice.ms for choice in row.record.choices] == [0.011, 0.021]


def test_rows_with_their_winner_are_a_table_without_sizes(tmp_path: Path) -> None:
    evidence = pasted(tmp_path, *TABLE[1:])
    (row,) = evidence.table(AutotuneTable)
    assert (row.record.seconds, row.record.sizes) == (1.2, ())


def test_rows_without_their_winner_make_no_table(tmp_path: Path) -> None:
    evidence = pasted(tmp_path, *TABLE[2:])
    assert not evidence.table(AutotuneTable)
    (row,) = evidence.table(LooseChoices)
    assert row.record.seconds == 1.2


@pytest.mark.parametrize(
    "parameters",
    [
        "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_128x256x64_ttn_align8_epi_tma swizzle=2",
        "ACC_TYPE='tl.float32', FLOAT32_PRECISION=\"'tf32'\", num_warps=4",
        "tile 128x128, 4 stages",
    ],
)
def test_a_choice_says_its_parameters_as_it_likes(parameters: str) -> None:
    (table,) = Autotune.parse(f"AUTOTUNE mm(8x8, 8x8)\n  k_1 0.0110 ms 100.0% {parameters}")
    assert isinstance(table, AutotuneTable)
    assert table.choices[0].parameters == parameters


@pytest.mark.parametrize(
    "before",
    [
        "ERROR 11-20 10:45:41 [core.py:586] ",
        "ERROR 11-20 10:45:41 multiproc_worker_utils.py:242] ",
        "(VllmWorker rank=0 pid=31) ERROR 11-20 10:45:41 [multiproc_executor.py:470] ",
        "(EngineCore_DP0 pid=30) (Worker_TP7 pid=31) ERROR 11-20 10:45:41 [v1/engine/core.py:8] ",
        "engine-1  | ",
    ],
)
def test_a_server_repeats_its_prefix(before: str, tmp_path: Path) -> None:
    evidence = pasted(tmp_path, *((before + line).rstrip() for line in TRACEBACK))
    (row,) = evidence.table(Failure)
    assert row.record.error == "torch._inductor.exc.InductorError"
    assert row.record.cause == "AttributeError"
    assert row.record.stack_frames[0].line == 7
    assert evidence.understood_lines == 6


def test_a_traceback_that_ends_anywhere_is_nobodys(tmp_path: Path) -> None:
    for end in range(40, len("\n".join(TRACEBACK[:3]))):
        pasted(tmp_path, "\n".join(TRACEBACK[:3])[:end], end="")


@pytest.mark.parametrize("error", ["BackendCompilerFailed", "InductorError", "TorchRuntimeError"])
def test_a_notebook_leaves_the_module_out(error: str, tmp_path: Path) -> None:
    evidence = pasted(
        tmp_path,
        f"{error}                             Traceback (most recent call last)",
        "Cell In[1], line 10",
        "---> 10 model(x)",
        "",
        f"{error}: something did not work",
    )
    (row,) = evidence.table(Failure)
    assert row.record.error == error


def test_an_unsupported_is_torchs_where_it_names_user_code(tmp_path: Path) -> None:
    assert not pasted(tmp_path, "Unsupported: the printer has no paper").table(Failure)
    code = ("", "from user code:", '   File "/home/ana/proj/model.py", line 5, in f', "    g(x)")
    (row,) = pasted(tmp_path, "Unsupported: call_function g", *code).table(Failure)
    assert row.record.user_stack[0].line == 5


@pytest.mark.parametrize(
    ("first", "category"),
    [
        (GRAD, ""),
        (f"UserWarning: {GRAD}", "UserWarning"),
        (f"[W reducer.cpp:320] Warning: {GRAD}", "Warning"),
        (f"[W1120 10:45:41.470000000 reducer.cpp:320] Warning: {GRAD}", "Warning"),
        (f".12/site-packages/torch/autograd/graph.py:841: UserWarning: {GRAD}", "UserWarning"),
        (f"`/venv/torch/autograd/graph.py:841: UserWarning: {GRAD}", "UserWarning"),
    ],
)
def test_a_warning_without_its_place(first: str, category: str, tmp_path: Path) -> None:
    (row,) = pasted(tmp_path, first, *SIZES).table(TorchWarning)
    assert (row.record.topic, row.record.category) == ("gradient-strides", category)
    assert len(row.record.details) == 2


@pytest.mark.parametrize("before", ["", "  ", "      ", "- ", "* ", "`", "web_1  | "])
def test_a_line_of_onednn_behind_marks_of_a_page(before: str, tmp_path: Path) -> None:
    evidence = pasted(tmp_path, "so slow:", before + EXEC, before + EXEC)
    (row,) = evidence.table(PrimitiveExec)
    assert (row.count, row.times.total if row.times else None) == (2, 0.5)


@pytest.mark.parametrize("bar", ["it/s, loss=0.1]", "tests/test_mm.py::test_float32 ", "loss 0.5"])
def test_a_line_of_onednn_behind_output_without_a_newline(bar: str, tmp_path: Path) -> None:
    line = "onednn_verbose,v1,info,oneDNN v3.7.1 (commit abc)"
    assert len(pasted(tmp_path, bar + line).table(LibraryVersion)) == 1
    assert not pasted(tmp_path, f"grep '{line}'").table(LibraryVersion)


@pytest.mark.parametrize("begun", ["create:start", "exec:start", "create_nested:start"])
def test_what_begins_has_no_time_yet(begun: str, tmp_path: Path) -> None:
    line = EXEC.replace(",exec,", f",{begun},").removesuffix(",0.25")
    (row,) = pasted(tmp_path, line).table(PrimitiveStart)
    assert row.record.shape == "64x128:128x96"
    assert not row.times


@pytest.mark.parametrize("end", range(1, len(EXEC)))
def test_a_last_line_that_was_cut_is_a_gap_and_no_refusal(end: int, tmp_path: Path) -> None:
    evidence = pasted(tmp_path, EXEC, EXEC[:end], end="")
    (row,) = evidence.table(PrimitiveExec)
    assert row.count in {1, 2}
    assert bool(evidence.gaps) == (end >= len("onednn_verbose,"))


def test_a_record_is_read_without_its_last_line_that_was_cut(tmp_path: Path) -> None:
    lines = (*TRACEBACK[:4], "", "from user code:", '   File "/home/ana/proj/model.py", line 5, i')
    prefix = "V1120 10:45:41.470000 30895 torch/_dynamo/guards.py:2940] [2/6] [__recompiles] "
    first = f"{prefix}Recompiling function f in /home/ana/proj/model.py:3"
    assert pasted(tmp_path, *lines, end="").table(Failure)
    evidence = pasted(tmp_path, first, f"{prefix}    triggered by the foll", end="")
    (row,) = evidence.table(Recompile)
    assert (row.record.function, row.first.frame) == ("f", "2/6")
    assert [gap[0] for gap in evidence.gaps.values()] == ["ends in the middle of a line"]


def test_what_is_refused_before_the_end_stays_refused(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"onednn_verbose,v1,nonsense\n{EXEC}", encoding="utf-8")
    evidence = read([str(path)])[0]
    assert [unread.first_line for unread in evidence.unread] == [1]


def test_torch_2_0_prefixes_the_first_line_alone(tmp_path: Path) -> None:
    prefix = "[2023-02-22 19:35:35,457] torch._dynamo.convert_frame: [WARNING] "
    limit = (
        f"{prefix}torch._dynamo hit config.cache_size_limit (64)",
        "   function: 'step' (/home/ana/proj/model.py:78)",
        "   reasons:  tensor 'x' size mismatch at index 0. expected 7, actual 8",
        "to diagnose recompilation issues, see https://pytorch.org/docs/master/troubleshooting.",
    )
    evidence = pasted(tmp_path, "epoch 1", *limit, *limit, "  loss 0.5")
    (row,) = evidence.table(RecompileLimit)
    assert (row.record.function, row.record.line, row.count) == ("step", 78, 2)
    assert evidence.understood_lines == 8


def test_the_profilers_table_without_its_rules(tmp_path: Path) -> None:
    evidence = pasted(
        tmp_path,
        "              Name    Self CPU %      Self CPU   CPU total %     CPU total    # of Calls",
        "          aten::mm        72.77%        2.775s        72.77%        2.775s          7200",
        "      aten::linear        14.62%     557.318ms        96.82%        3.692s          9624",
    )
    (row,) = evidence.table(KeyAverages)
    assert [(a.name, a.calls) for a in row.record.averages()] == [
        ("aten::mm", 7200),
        ("aten::linear", 9624),
    ]


def test_phases_up_to_where_the_log_was_cut(tmp_path: Path) -> None:
    prefix = "I1120 10:45:41.470000 30895 torch/_dynamo/utils.py:910] "
    lines = ("TorchDynamo compilation metrics:", "Function, Runtimes (s)", "gc, 0.5", "insert_de")
    (row,) = pasted(tmp_path, *(prefix + line for line in lines), end="").table(PhaseTimes)
    assert len(row.record.phases) == 1


def test_a_recompile_of_torch_2_0_names_no_line(tmp_path: Path) -> None:
    evidence = pasted(
        tmp_path,
        "[2023-04-13 21:42:57,808] torch._dynamo.convert_frame.__recompiles: [DEBUG] "
        "('Recompiling function step in /home/ana/proj/model.py', "
        "\"triggered by the following guard failure: L['t'] == 0\")",
    )
    (row,) = evidence.table(Recompile)
    assert (row.record.function, row.record.file) == ("step", "/home/ana/proj/model.py")


def test_guards_that_failed_of_a_function_that_was_not_pasted(tmp_path: Path) -> None:
    prefix = "V1120 10:45:41.470000 30895 torch/_dynamo/guards.py:2940] [2/6] [__recompiles] "
    checks = ("    - 2/1: L['k'] == 2", "    - 2/0: tensor 'x' rank mismatch. expected 3, actual 4")
    (row,) = pasted(tmp_path, *(prefix + check for check in checks)).table(LooseFailures)
    assert len(row.record.failures) == 2


def test_a_break_whose_reason_was_cut_off_is_counted_without_one(tmp_path: Path) -> None:
    prefix = "V1120 10:45:41.470000 30895 torch/_dynamo/output.py:53] [0/0] [__graph_breaks] "
    lines = ("Graph break: from user code at:", '  File "/home/ana/proj/model.py", line 5, in f')
    path = tmp_path / "pasted.txt"
    path.write_text("\n".join(f"    {prefix}{line}" for line in lines), encoding="utf-8")
    (finding,) = engine.analyze(str(path), select=["GBR012"]).findings
    assert "proj/model.py:5 (1)." in finding.message


@pytest.mark.parametrize("mark", ["1. `", "12) ", "- `", "* ", "`"])
def test_a_line_of_onednn_in_a_list_is_read(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    end = "` (as it is)" if "`" in mark else ""
    path.write_text(f"- Dilate = 1\n\n{mark}{EXEC}{end}\n2.\n", encoding="utf-8")
    evidence, _ = read([str(path)])
    assert [row.record.primitive for row in evidence.table(PrimitiveExec)] == ["matmul"]


@pytest.mark.parametrize("before", ["2024-05-12 10:00:01 | WARNING | ", "compile >> ", "app - "])
def test_a_message_behind_what_a_logger_of_any_form_writes(before: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"{before}skipping cudagraphs due to mutated inputs (1 instances)\n")
    assert analyze(str(path)).findings[0].code == "CGR002"
