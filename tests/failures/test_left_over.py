"""What is left of a failure's text when its head, its end, or the words around it are cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze

TORCH = "/home/ana/venv/lib/python3.12/site-packages/torch"
PREFIX = "W0302 10:11:12.123000 4242 torch/_dynamo/convert_frame.py:1280] "
FRAMES = (
    f'  File "{TORCH}/_dynamo/symbolic_convert.py", line 2931, in CALL\n'
    "    self._call(inst)\n"
    f'  File "{TORCH}/_inductor/compile_fx.py", line 760, in _compile_fx_inner\n'
    "    raise InductorError(e, currentframe()).with_traceback(\n"
)
ERROR = "torch._inductor.exc.InductorError: KeyError: 'buf7'\n"


def logged(text: str, prefix: str = PREFIX) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


NOTEBOOK = (
    "---------------------------------------------------------------------------\n"
    "{name}                             Traceback (most recent call last)\n"
    "Cell In[6], line 1\n----> 1 model(x)\n\n"
    f"File {TORCH}/_dynamo/eval_frame.py:472, in OptimizedModule.__call__(self, *args, **kwargs)\n"
    "--> 472     return super().__call__(*args, **kwargs)\n"
)
BOX = (
    f"│ {TORCH}/_ │\n"
    "│ dynamo/variables/builtin.py:931 in call_getattr                           │\n"
    "│                                                                           │\n"
    "│    930 │   │   if isinstance(obj, variables.NNModuleVariable):             │\n"
    "│ ❱  931 │   │   │   return obj.var_getattr(tx, name)                        │\n"
)
LOADED = (
    f'  File "{TORCH}/_inductor/codegen/triton.py", line 2047, in inductor_meta_common\n'
    '    "backend_hash": torch.utils._triton.triton_hash_with_backend(),\n'
    f'  File "{TORCH}/utils/_triton.py", line 63, in triton_hash_with_backend\n'
    "    backend = triton_backend()\n"
    '  File "/home/ana/venv/lib/python3.12/site-packages/triton/runtime/driver.py", line 23, in x\n'
)
ESCAPED = (
    "{'message': 'torch._inductor.exc.InductorError: SubprocException: An exception occurred in a"
    ' subprocess:\\n\\nTraceback (most recent call last):\\n  File "'
    f'{TORCH}/_inductor/runtime/compile_tasks.py", line 57, in f\\n    kernel.precompile()\\n'
    "IndexError: list index out of range'}\n"
)
ENGINE = (
    "INFO 03-02 10:11:12 [backends.py:472] Dynamo bytecode transform time: 5.86 s\n"
    "ERROR 03-02 10:11:13 [core.py:515] EngineCore failed to start.\n"
    "ERROR 03-02 10:11:13 [core.py:515] Traceback (most recent call last):\n"
    'ERROR 03-02 10:11:13 [core.py:515]   File "/app/vllm/v1/engine/core.py", line 506, in run\n'
)
REASON = (
    "ERROR 03-02 10:11:13 [core.py:515]     raise ValueError(\n"
    "ERROR 03-02 10:11:13 [core.py:515] ValueError: No available memory for the cache blocks.\n"
    "RuntimeError: Engine core initialization failed. See root cause above. Failed: {}\n"
)
EXPORT = (
    f'  File "{TORCH}/export/dynamic_shapes.py", line 91, in __call__\n'
    "TypeError: 'Dim' object is not callable\n"
)
END = (
    '  File "/home/ana/proj/model.py", line 30, in forward\n    x = self.first(x)\n\n'
    'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information\n\n'
    "You can suppress this exception and fall back to eager by setting:\n"
    "    import torch._dynamo\n    torch._dynamo.config.suppress_errors = True\n"
)
COLAB = (
    f"[{TORCH}/_inductor/graph.py](https://localhost:8080/#) in run_node(self, n)\n"
    "    497     with override:\n--> 499         result = super().run_node(n)\n\n"
    "RuntimeError: no such buffer\n"
)
ARROWS = (
    f"File {TORCH}/_dynamo/convert_frame.py:404, in convert_frame.<locals>._convert_frame(frame)\n"
    "    403 try:\n--> 404     result = inner_convert(frame, cache_size, hooks)\n"
)
RAISED = (
    "Traceback (most recent call last):\n"
    f'  File "{TORCH}/_dynamo/eval_frame.py", line 675, in _fn\n'
    "    raise e.remove_dynamo_frames() from None  # see TORCHDYNAMO_VERBOSE=1\n"
    f'  File "{TORCH}/_dynamo/output_graph.py", line 1583, in _call_user_compiler\n'
)
OLD = (
    "subprocess.CalledProcessError: Command '['/usr/bin/g++', '-shared', '-fopenmp',"
    " '-o/tmp/torchinductor_ana/io/cio.so', '/tmp/torchinductor_ana/io/cio.cpp']' returned non-zero"
    " exit status 1.\n"
)
CASES = {
    "logged, the error there": (logged(FRAMES + ERROR), "ERR017", "KeyError"),
    "logged, cut before the error": (logged(FRAMES), "ERR000", "cut before its error"),
    "logged, blank lines between": (
        logged(FRAMES).replace("\n", "\n\n"),
        "ERR000",
        "cut before its error",
    ),
    "a notebook's head": (NOTEBOOK.format(name="InductorError"), "ERR000", "InductorError"),
    "a notebook's Unsupported": (NOTEBOOK.format(name="Unsupported"), "ERR016", "fullgraph"),
    "a box too narrow": (BOX, "ERR000", "cut before its error"),
    "where Triton looks for its driver": (LOADED, "ERR000", "cut before its error"),
    "line ends as two characters": (ESCAPED, "ERR024", "IndexError"),
    "an engine's": (ENGINE, "ERR000", "the engine did not start"),
    "an engine's, with the reason": (ENGINE + REASON, "ERR000", "No available memory"),
    "torch.export's own": (EXPORT, "ERR000", "not callable"),
    "bf16 on an old GPU": (
        (
            "ptxas /tmp/compile-ptx-src-1, line 9; error   : Feature '.bf16' requires .target"
            " sm_80 or higher\n"
        ),
        "ERR011",
        "sm_80",
    ),
    "the end alone": (END, "ERR000", "cut before its error"),
    "Colab's frames": (COLAB, "ERR000", "Inductor lowered"),
    "a notebook's arrows": (ARROWS, "ERR000", "cut before its error"),
    "one frame below the line that raises": (RAISED, "ERR000", "cut before its error"),
    "the command of torch 2.0": (OLD, "ERR007", "returned non-zero"),
    "a dump of Triton's code": (
        (
            "LLVM ERROR: Unsupported rounding mode for conversion.\n"
            "#blocked = #ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [4, 8]}>\n"
        ),
        "ERR017",
        "rounding mode",
    ),
    "made under inference_mode": (
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
            "RuntimeError: Inference tensors do not track version counter\n"
        ),
        "ERR000",
        "inference_mode",
    ),
    "a library of another version": (
        (
            "ImportError: libsycl.so.7: cannot open shared object file: No such file or directory\n"
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
            "ImportError: libsycl.so.7: cannot open shared object file: No such file or directory\n"
        ),
        "ERR006",
        "libsycl.so.7",
    ),
}


#: How programs use a compiled model wrongly, or what is said in place of the cause; and what helps.
USES = {
    "names": (
        (
            "RuntimeError: Error(s) in loading state_dict for Net:\n"
            '\tMissing key(s) in state_dict: "conv.weight".\n'
            '\tUnexpected key(s) in state_dict: "_orig_mod.conv.weight".\n'
        ),
        "own-weights",
    ),
    "option": (
        "RuntimeError: Unexpected optimization option cuda.epilogue, known options are ['a']\n",
        "known-options",
    ),
    "mode": (
        "RuntimeError: Unrecognized mode=fast, should be one of: default, reduce-overhead\n",
        "known-options",
    ),
    "copy": ("TypeError: cannot pickle 'ConfigModuleInstance' object\n", "copy-before"),
    "export": (
        (
            "torch.onnx._internal.exporter._errors.TorchExportError: Failed to export the model"
            " with torch.export. This is step 1/3 of exporting the model to ONNX.\n"
        ),
        "export-alone",
    ),
    "threads": (
        "RuntimeError: compiled_autograd.enable() requires no threads in backwards()\n",
        "one-thread",
    ),
    "lost": (
        (
            "TypeError: BackendCompilerFailed.__init__() missing 1 required positional argument:"
            " 'inner_exception'\n"
        ),
        "first-worker",
    ),
}


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_is_told_first(case: str, tmp_path: Path) -> None:
    text, code, words = CASES[case]
    first = report(text, tmp_path).told[0]
    assert first.code == code
    assert words in f"{first.title} {first.message}"


@pytest.mark.parametrize("case", USES)
def test_wrong_uses_are_told_with_what_helps(case: str, tmp_path: Path) -> None:
    text, advice = USES[case]
    first = report(text, tmp_path).told[0]
    assert first.code == "ERR000"
    assert first.advice[0].id == advice


@pytest.mark.parametrize("name", ["TorchRuntimeError", "UncapturedHigherOrderOpError"])
def test_an_exception_that_only_torch_has_is_known_without_its_module(
    name: str, tmp_path: Path
) -> None:
    assert report(f"{name}: it went wrong\n", tmp_path).told[0].code.startswith("ERR")


def test_names_of_weights_that_no_compiler_changed_are_left_to_the_program(tmp_path: Path) -> None:
    text = 'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s): "conv.w".\n'
    first = report(text, tmp_path).told[0]
    assert first.title.startswith("the weights are not those of this model")


def test_what_torch_left_out_is_said_to_be_suppressed(tmp_path: Path) -> None:
    first = report(logged(FRAMES + ERROR), tmp_path).told[0]
    assert first.data["suppressed"]
    assert not first.data["ended_program"]


def test_a_stack_that_torch_logs_to_tell_where_something_was_made_is_no_failure(
    tmp_path: Path,
) -> None:
    prefix = "I0302 10:11:12.123000 4242 torch/fx/experimental/symbolic_shapes.py:4423] [0/0] "
    made = "create_symbol s0 = 8 for L['x'].size()[0] [2, int_oo]\nStack (most recent call last):\n"
    found = report(logged(made + FRAMES, prefix), tmp_path).told
    assert not [one.code for one in found if one.code.startswith("ERR")]


def test_a_worker_whose_candidate_does_not_compile_is_no_failure(tmp_path: Path) -> None:
    prefix = "E0302 10:11:12.123000 4242 torch/_inductor/compile_worker/subproc_pool.py:321] "
    text = logged(f"{FRAMES}torch._inductor.exc.CppCompileError: C++ compile error\n", prefix)
    found = report(f"{text}W0302 10:11:13.000000 4242 torch/_inductor/x.py:9] went on\n", tmp_path)
    assert not [one.code for one in found.told if one.code.startswith("ERR")]


def test_random_operators_of_another_pass_are_left_to_eager(tmp_path: Path) -> None:
    text = (
        "torch._inductor.exc.LoweringException: AssertionError: should have been handled in"
        " replace_random.py\n  target: aten.rand_like.default\n"
    )
    first = report(text, tmp_path).told[0]
    assert first.code == "ERR017"
    assert first.advice[0].setting == "torch._inductor.config.fallback_random = True"


SEARCH = Path("fixtures/rules/TUN004-configs-out-of-resources/fires-exceptions-with-traceback.log")


def test_what_is_raised_for_one_kernel_of_a_search_and_logged_is_no_failure(tmp_path: Path) -> None:
    assert errors(report(SEARCH.read_text(), tmp_path)) == []


def test_the_same_raised_by_the_program_is_one(tmp_path: Path) -> None:
    lines = SEARCH.read_text().split("\n")[1:10]
    text = "".join(f"{line.partition('[0/0] ')[2]}\n" for line in lines)
    assert errors(report(text, tmp_path)) == ["ERR013"]


def errors(told: Report) -> list[str]:
    return [one.code for one in told.findings if one.code.startswith("ERR")]
