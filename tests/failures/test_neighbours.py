"""Failures of engines, drivers and devices around compiled code, and what only resembles them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import TracelensError, analyze
from tracelens.cli._phrases import rules_about
from tracelens.report import Severity

TORCH = "/opt/venv/lib/python3.11/site-packages/torch"
#: Text, the code that is first, and words of its advice.
FAILED = {
    "type object of Triton's": (
        (
            "- **Exception Type:** torch._inductor.exc.InductorError\n"
            "- **Exception Message:** AttributeError: type object 'CompiledKernel' has no "
            "attribute 'launch_enter_hook'\n"
        ),
        "ERR009",
        "triton",
    ),
    "the engine's capture, from docker compose": (
        (
            'serve-1  |   File "/app/srt/cuda_graph_runner.py", line 3, in init\n'
            "serve-1  |     raise Exception(\n"
            "serve-1  | Exception: Capture cuda graph failed: \n"
        ),
        "ERR000",
        "--disable-cuda-graph",
    ),
    "Level Zero by its number": (
        "RuntimeError: Triton Error [ZE]: 0x78000011\n",
        "ERR022",
        "driver",
    ),
    "ocloc": (
        "torch._inductor.exc.InductorError: IntelGPUError: Internal Triton ZEBIN codegen error\n",
        "ERR022",
        "driver",
    ),
    "a watchdog that got stuck": (
        (
            "[rank1]:[E922 19:07:21.891247234 ProcessGroupNCCL.cpp:1870] [PG ID 0 Rank 1] "
            "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in "
            "monitoring enqueued collectives.\n"
        ),
        "ERR029",
        "TORCH_NCCL",
    ),
    "a watchdog that got stuck, without the head of the line": (
        "'s watchdog got stuck for 480 seconds without making progress in monitoring enqueued\n",
        "ERR029",
        "TORCH_NCCL",
    ),
    "a linker that a backend's exception tells of": (
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='tvm' raised:\n"
            "tvm._ffi.base.TVMError: Compilation error:\n"
            "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
        ),
        "ERR006",
        "LIBRARY_PATH",
    ),
    "a fault of an AMD GPU": (
        (
            "Memory access fault by GPU node-1 (Agent handle: 0x88b6bc0) on address 0x7f4f8180. "
            "Reason: Unknown.\nAborted (core dumped)\n"
        ),
        "ERR000",
        "AMD_SERIALIZE_KERNEL",
    ),
    "a bug in Inductor's own code": (
        (
            "Traceback (most recent call last):\n"
            f'  File "{TORCH}/_inductor/graph.py", line 333, in call_function\n'
            "    out = lowerings[target](*args, **kwargs)\n"
            f'  File "{TORCH}/_inductor/lowering.py", line 2010, in index_put_as_masked_fill\n'
            "    if value.get_device() != self.get_device():\n"
            "AttributeError: 'Constant' object has no attribute 'get_device'\n"
        ),
        "ERR017",
        "compiler_bisector",
    ),
}
QUIET = {
    "a capture that went well": "Capture cuda graph end. Time elapsed: 12.31 s.\n",
    "a watchdog of another program": "the watchdog got stuck for a while and was restarted\n",
    "tables with bars": "service  | state\nweb-1  | Exception handling is on\n",
    "another class of that name": "AttributeError: type object 'Kernel' has no attribute 'hook'\n",
    "a monitor of another service": "Heartbeat monitor timed out, restarting worker 3\n",
    "a daemon that writes its state": "Received a dump signal from operator, writing state\n",
    "a daemon that names a rank": "Received a dump signal from ops, local rank file kept\n",
    "a timeout elsewhere": "Received a timeout signal from upstream. localrank=3 goes on\n",
    "a watchdog of a queue": "postgres: failure detected by watchdog at work queue 3\n",
    "a service that stops": "To avoid data inconsistency, we are taking the entire process down.\n",
    "a watchdog of a sensor": "The sensor's watchdog got stuck for 480 seconds without an answer\n",
    "a range of a parameter": "ValueError: Not all values of a are in the specified range [0, 1]\n",
    "a linker that PyTensor calls": (
        "pytensor.link.c.exceptions.CompileError: Compilation failed (return status=1):\n"
        "/usr/bin/ld: cannot find -lmkl_rt: No such file or directory\n"
        "collect2: error: ld returned 1 exit status\n"
    ),
    "a compiler that tinygrad calls": (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/tinygrad/tinygrad/engine/realize.py", line 60, in compile_linear\n'
        "    lib = Device[dev].compiler.compile_cached(src)\n"
        "tinygrad.device.CompileError: compile failed: <null>:3:10: fatal error: 'math.h' file "
        "not found\n"
    ),
    "a linker that TVM calls": (
        "tvm._ffi.base.TVMError: Compilation error:\n"
        "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
    ),
    "an assembler that Paddle calls": (
        "paddle.base.libpaddle.PaddleError: (External) ptxas fatal : Value 'sm_90a' is not defined "
        "for option 'gpu-name'\n"
    ),
    "a program that was stopped in eager mode": (
        "^CTraceback (most recent call last):\n"
        '  File "/home/ana/proj/train.py", line 40, in <module>\n'
        "    loss.backward()\n"
        f'  File "{TORCH}/_tensor.py", line 581, in backward\n'
        "    torch.autograd.backward(\n"
        f'  File "{TORCH}/autograd/graph.py", line 825, in _engine_run_backward\n'
        "    return Variable._execution_engine.run_backward(\n"
        "KeyboardInterrupt\n"
    ),
}


@pytest.mark.parametrize("name", FAILED)
def test_it_is_told_first_with_its_way_out(name: str, tmp_path: Path) -> None:
    text, code, words = FAILED[name]
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    told = analyze(str(path)).told
    assert (told[0].code, told[0].severity) == (code, "error")
    assert words in " ".join(f"{one.text} {one.env} {one.code}" for one in told[0].advice)


@pytest.mark.parametrize("name", QUIET)
def test_what_resembles_it_is_no_failure(name: str, tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    path.write_text(QUIET[name], encoding="utf-8")
    with pytest.raises(TracelensError):
        analyze(str(path))


def test_an_error_of_a_called_kernel_is_no_bug_of_the_compiler(tmp_path: Path) -> None:
    """Two-sided with the bug in Inductor's own code: its runtime calls what the program wrote."""
    text, _, _ = FAILED["a bug in Inductor's own code"]
    path = tmp_path / "pasted.txt"
    path.write_text(text.replace("_inductor/lowering.py", "_inductor/runtime/hints.py"), "utf-8")
    assert analyze(str(path)).told[0].code == "ERR000"


def test_the_record_of_a_graph_break_without_its_prefix_is_no_failure(tmp_path: Path) -> None:
    record = (
        "Graph break in user code at /home/ana/proj/a.py:12\n"
        "Reason: Unsupported: call_function BuiltinVariable(print) [ConstantVariable()] {}\n"
        "User code traceback:\n"
        '  File "/home/ana/proj/a.py", line 12, in f\n'
        '    print("x")\n'
    )
    raised = record.partition("Reason: ")[2].replace("User code traceback", "from user code")
    path = tmp_path / "pasted.txt"
    for text, codes in ((record, ["GBR003"]), (f"torch._dynamo.exc.{raised}", ["ERR016"])):
        path.write_text(text, encoding="utf-8")
        assert [one.code for one in analyze(str(path)).told] == codes


def test_what_launchers_print_in_every_run_is_no_part_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    stars = "W0922 18:51:16.217000 1197897 torch/distributed/run.py:774] "
    path.write_text(
        f"{stars}\n{stars}{'*' * 41}\n{stars}Setting OMP_NUM_THREADS environment variable for each "
        f"process to be 1 in default\n{stars}{'*' * 41}\nstep 1 loss 0.5\n",
        encoding="utf-8",
    )
    assert not analyze(str(path)).told


@pytest.mark.parametrize(
    ("phrase", "code"),
    [
        ("recompile_limit reached with fullgraph=True", "RCP001"),
        ("accessing tensor output of CUDAGraphs that has been overwritten", "CGR006"),
        ("Could not guard on data-dependent expression Eq(u0, 1)", "DYN001"),
        ("ProcessGroupNCCL's watchdog got stuck for 480 seconds", "ERR029"),
        ("type object 'CompiledKernel' has no attribute 'launch_enter_hook'", "ERR009"),
        ("torch.AcceleratorError: HIP error: invalid device function", "ERR000"),
        ("ld: library 'omp' not found", "ENV003"),
    ],
)
def test_the_rule_that_explains_a_message_is_named_first(phrase: str, code: str) -> None:
    assert rules_about(phrase)[0].code == code


NCCL = "[rank7]:[E1101 02:02:02.234567891 ProcessGroupNCCL.cpp:1746] "
GROUP = "[PG ID 0 PG GUID 0(default_pg) Rank 7] "


@pytest.mark.parametrize(
    "text",
    [
        GROUP + "Received a dump signal due to a collective timeout from  rank 3 and we will try "
        "our best to dump the debug info. Last enqueued NCCL work: 4021, last completed NCCL work: "
        "4020.",
        GROUP + "Observed flight recorder dump signal from another rank via TCPStore.",
        GROUP + "ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1",
        "[Rank 7] To avoid data inconsistency, we are taking the entire process down.",
        "To avoid data inconsistency, we are taking the entire process down.",
        "[Rank 7] Some NCCL operations have failed or timed out. Due to the asynchronous nature of",
        GROUP + "Heartbeat monitor timed out! Process will be terminated after dumping debug info.",
        GROUP + "failure detected by watchdog at work sequence id: 2 PG status: last enqueued "
        "work: 3, last completed work: 1",
        GROUP + "Terminating the process after attempting to dump debug info, due to collective "
        "timeout or exception.",
    ],
)
def test_what_the_watchdog_says_further_on_is_told_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"{NCCL}{text}\n")
    first = analyze(str(path)).findings[0]
    assert (first.code, first.severity) == ("ERR029", Severity.ERROR)
