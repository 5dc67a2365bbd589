"""Clusters, builds, other frameworks and languages fail all day; none of it is torch.compile's."""
# ruff: noqa: E501 -- lines of other programs

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.failures.printing import WORDS, Text, printed
from tracelens.failures import Failure
from tracelens.source import read


def kubernetes(pick: random.Random) -> Iterator[str]:
    name, pod = pick.choice(WORDS), f"{pick.choice(WORDS)}-7d9f{pick.randrange(99)}"
    yield f'E1121 12:00:00.123456  1 pod_workers.go:1298] "Error syncing pod" pod="default/{pod}"'
    yield f"Warning  BackOff  2m (x6 over 3m)  kubelet  Back-off restarting failed container {name}"
    yield f"  Warning  Failed   12s  kubelet  Error: failed to create containerd task: {name}: exit"
    yield f'level=error msg="rpc error: code = DeadlineExceeded desc = {name} is not found"'
    yield "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137"
    yield f"0/5 nodes are available: 2 Insufficient nvidia.com/gpu, 3 had taint {{{name}}}."
    yield f"I1121 {name}.cc:626] failed to load 'resnet' version 1: Invalid argument: tritonserver {name}"
    yield "tritonclient.utils.InferenceServerException: [400] unexpected shape for input 'x'"


def cargo(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"   Compiling {name} v0.{pick.randrange(9)}.1 (/home/ana/{name})"
    yield "error[E0308]: mismatched types"
    yield f'  --> src/{name}.rs:12:5\n   |\n12 |     let x: u32 = "a";'
    yield "   = note: expected type `u32` found reference `&'static str`"
    yield "error: linking with `cc` failed: exit status: 1"
    yield f"  = note: /usr/bin/ld: cannot find -l{name}: No such file or directory"
    yield "          collect2: error: ld returned 1 exit status"
    yield f'error: could not compile `{name}` (bin "{name}") due to 2 previous errors'
    yield "rustc-LLVM ERROR: out of memory\nAllocation failed"
    yield f"thread 'main' panicked at src/{name}.rs:4:5:\ncalled `Result::unwrap()` on an `Err`"
    yield "stack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt"


def npm(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"npm ERR! code ELIFECYCLE\nnpm ERR! errno {pick.randrange(9)}\nnpm ERR! {name}@1.0 build"
    yield f"gyp ERR! stack Error: Could not find any Python installation to use for {name}"
    yield f"Module not found: Error: Can't resolve './{name}' in '/srv/app/src'"
    yield f"src/{name}.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'."
    yield "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"
    yield f"error Command failed with exit code 1.\nUncaught (in promise) Error: {name} is not found"


def gradle(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"> Task :app:compile{name.title()}Java FAILED"
    yield f"/home/ana/app/{name}.java:12: error: cannot find symbol\n  symbol: class {name.title()}"
    yield "FAILURE: Build failed with an exception.\n* What went wrong:\nExecution failed for task."
    yield "> Compilation failed; see the compiler error output for details."
    yield "[ERROR] COMPILATION ERROR :\n[ERROR] Failed to execute goal maven-compiler-plugin:3.8"
    yield "org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 1.0"
    yield f"\tat org.apache.spark.scheduler.{name}(DAGScheduler.scala:2672)"
    yield f"Caused by: java.util.concurrent.TimeoutException: {name} timed out after [300 seconds]"
    yield "java.lang.OutOfMemoryError: Java heap space"


def go(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"panic: runtime error: index out of range [3] with length 3\n\ngoroutine {pick.randrange(9)}"
    yield f"main.{name}(0x1)\n\t/home/ana/{name}/main.go:12 +0x1d\nexit status 2"
    yield f"./{name}.go:12:2: undefined: {name}\nfatal error: all goroutines are asleep - deadlock!"
    yield f"FAIL\tgithub.com/ana/{name}\t0.012s\n--- FAIL: Test{name.title()} (0.00s)"


def django(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield f"Internal Server Error: /{name}/\nTraceback (most recent call last):"
    yield '  File "/srv/venv/lib/python3.12/site-packages/django/core/handlers/exception.py", line 55, in inner'
    yield "    response = get_response(request)"
    yield f'  File "/srv/app/{name}/views.py", line 12, in get\n    raise {name.title()}Error(x)'
    yield f'django.db.utils.ProgrammingError: relation "{name}" does not exist'
    yield f"django.template.exceptions.TemplateDoesNotExist: {name}.html"
    yield f"celery.exceptions.TimeLimitExceeded: TimeLimitExceeded(300,)\nTask {name} raised unexpected:"


def jax(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield "Traceback (most recent call last):"
    yield f'  File "/home/ana/proj/{name}.py", line 12, in <module>\n    jitted(x)'
    yield '  File "/home/ana/venv/lib/python3.12/site-packages/jax/_src/pjit.py", line 340, in cache_miss'
    yield "    outs, out_flat, out_tree, args_flat, jaxpr, attrs_tracked = _python_pjit_helper("
    yield "jax.errors.TracerArrayConversionError: The numpy.ndarray conversion method was called"
    yield "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes"
    yield "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: ptxas exited with non-zero error code 65280"
    yield "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"
    yield f"ConcretizationTypeError: Abstract tracer value encountered in {name}"
    yield "For simplicity, JAX has removed its internal frames from the traceback. dynamo"


def tensorflow(pick: random.Random) -> Iterator[str]:
    name = pick.choice(WORDS)
    yield "2026-11-21 12:00:00.1: W external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:1] failed"
    yield "Could not load dynamic library 'libcudnn.so.8'; dlerror: cannot open shared object file"
    yield "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
    yield "failed to allocate 8.00GiB from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    yield "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:"
    yield f"Detected at node '{name}/MatMul' defined at (most recent call last):"
    yield f'    File "/home/ana/proj/{name}.py", line 12, in <module>\n      model.fit(x)'
    yield f"Node: '{name}/MatMul'\nOOM when allocating tensor with shape[64,64] and type float"
    yield "numba.core.errors.TypingError: Failed in nopython mode pipeline (step: nopython frontend)"
    yield f"LLVM ERROR: Symbol not found: __svml_{name}"


def slurm(pick: random.Random) -> Iterator[str]:
    task = pick.randrange(64)
    yield f"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123{task}.0."
    yield f"srun: error: node01: task {task}: Out Of Memory\nsrun: Terminating StepId=12.0"
    yield "slurmstepd: error: *** JOB 12 ON node01 CANCELLED AT 2026-11-21 DUE TO TIME LIMIT ***"
    yield f"srun: error: node0{task}: task {task}: Segmentation fault (core dumped)"
    yield "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD with errorcode 1."
    yield "[node01:12] *** Process received signal ***\n[node01:12] Signal: Aborted (6)"
    yield "terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom"


def trainer(pick: random.Random) -> Iterator[str]:
    yield f"{{'loss': {pick.random():.4f}, 'grad_norm': nan, 'epoch': 0.1, 'eval_error': 0.2}}"
    yield "Traceback (most recent call last):"
    yield '  File "/home/ana/proj/train.py", line 12, in <module>\n    trainer.train()'
    yield (
        '  File "/home/ana/venv/lib/python3.12/site-packages/transformers/trainer.py", line 2122,'
        " in train\n    return inner_training_loop("
    )
    yield "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'"
    yield "ValueError: Unable to create tensor, you should probably activate truncation"
    yield "RuntimeError: The size of tensor a (3) must match the size of tensor b (4)"
    yield "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests"
    yield "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    yield "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x"


KINDS: tuple[Text, ...] = (
    kubernetes,
    cargo,
    npm,
    gradle,
    go,
    django,
    jax,
    tensorflow,
    slurm,
    trainer,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_fails_elsewhere_is_not_told_as_a_failure_of_the_compiler(
    kind: Text, tmp_path: Path
) -> None:
    path = tmp_path / "printed.log"
    path.write_text(printed((kind,), 1, 30_000, mixed=True), encoding="utf-8")
    evidence, _ = read([str(path)])
    found = [(seen.record.cause, seen.record.message) for seen in evidence.table(Failure)]
    assert found == []


def test_nor_is_all_of_it_together(tmp_path: Path) -> None:
    path = tmp_path / "printed.log"
    path.write_text(printed(KINDS, 2, 200_000, mixed=True), encoding="utf-8")
    evidence, _ = read([str(path)])
    found = [(seen.record.cause, seen.record.message) for seen in evidence.table(Failure)]
    assert found == []
